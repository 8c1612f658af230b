// Numbers with units, as short as they can be without lying.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const NONE = "–";

const known = (value) => typeof value === "number" && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : NONE);
export const brief = (value) => (known(value) ? (Math.abs(value) < 10_000 ? whole.format(value) : short.format(value).replace("K", "k")) : NONE);
export const plain = (value) => (known(value) ? (Math.abs(value) >= 1000 ? whole.format(value) : three.format(value)) : NONE);

export function rate(value) {
  if (!known(value)) return NONE;
  if (value === 0) return "0/s";
  return value < 0.05 ? "< 0.1/s" : `${value < 10 ? Math.round(value * 10) / 10 : brief(value)}/s`;
}

export function bytes(value) {
  if (!known(value)) return NONE;
  let unit = 0;
  let size = value;
  while (Math.abs(size) >= 1023.5 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit ? three.format(size) : whole.format(size)} ${UNITS[unit]}`;
}

export function percent(share) {
  if (!known(share)) return NONE;
  return share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`;
}

export function duration(ms) {
  if (!known(ms) || ms < 0) return NONE;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${Math.round(ms / 100) / 10} s`;
  const seconds = Math.round(ms / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([size]) => size > 0);
  return parts.slice(first, first + 2).filter(([size]) => size > 0).map(([size, name]) => `${size} ${name}`).join(" ");
}

export const plural = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;
