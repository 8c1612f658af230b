// Round numbers along an axis; of bytes, those that are round in units of 1024.
export function ticks(low, high, wanted = 4, binary = false) {
  if (!(high > low)) return [low];
  const unit = binary ? 1024 ** Math.max(0, Math.floor(Math.log(high) / Math.log(1024))) : 1;
  const raw = (high - low) / unit / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw) * unit;
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) found.push(value);
  return found;
}
