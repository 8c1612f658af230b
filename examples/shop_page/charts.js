"use strict";
// Draws the three charts from what /charts says, and again every second.

const WIDTH = 480, HEIGHT = 240, LEFT = 70, BOTTOM = 24, TOP = 10;

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function chart(label) {
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-labelledby": label });
  svg.append(element("line", { class: "axis", x1: LEFT, y1: HEIGHT - BOTTOM, x2: WIDTH, y2: HEIGHT - BOTTOM }));
  return svg;
}

const across = (at, count) => LEFT + (WIDTH - LEFT) * at / count;
const up = (value, most) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / most;
const largest = (rows, name) => Math.max(1, ...rows.map(row => row[name]));

function scale(svg, most) {
  svg.append(element("text", { x: LEFT - 6, y: TOP + 8, "text-anchor": "end" }, most.toLocaleString("en")));
  svg.append(element("text", { x: LEFT - 6, y: HEIGHT - BOTTOM, "text-anchor": "end" }, "0"));
}

function hours(rows) {
  const svg = chart("hours"), most = largest(rows, "buy_cnt");
  scale(svg, most);
  for (const row of rows) {
    const x = across(row.hour_of_day, 24), y = up(row.buy_cnt, most), width = (WIDTH - LEFT) / 24 - 2;
    const bar = element("rect", { class: "bar", x, y, width, height: HEIGHT - BOTTOM - y });
    bar.append(element("title", {}, `${row.hour_of_day} o'clock: ${row.buy_cnt}`));
    svg.append(bar);
    if (row.hour_of_day % 4 === 0) svg.append(element("text", { x, y: HEIGHT - 8 }, String(row.hour_of_day)));
  }
  return svg;
}

function visitors(rows) {
  const svg = chart("visitors"), most = largest(rows, "uv");
  scale(svg, most);
  const place = row => {
    const [hour, minute] = row.time_str.split(":").map(Number);
    return across(hour * 6 + minute / 10, 144);
  };
  const points = rows.map(row => `${place(row)},${up(row.uv, most)}`).join(" ");
  svg.append(element("polyline", { class: "line", points }));
  for (const row of rows.filter(row => /(00|04|08|12|16|20):00/.test(row.time_str)))
    svg.append(element("text", { x: place(row), y: HEIGHT - 8 }, row.time_str));
  return svg;
}

function categories(rows) {
  const svg = chart("categories"), most = largest(rows, "buy_cnt"), step = (HEIGHT - BOTTOM - TOP) / 10;
  rows.forEach((row, at) => {
    const y = TOP + at * step, width = (WIDTH - LEFT - 60) * row.buy_cnt / most;
    svg.append(element("text", { x: LEFT - 6, y: y + step / 2 + 3, "text-anchor": "end" }, row.category_name));
    svg.append(element("rect", { class: "bar", x: LEFT, y: y + 2, width, height: step - 4 }));
    svg.append(element("text", { x: LEFT + width + 6, y: y + step / 2 + 3 }, row.buy_cnt.toLocaleString("en")));
  });
  return svg;
}

const DRAW = { buy_cnt_per_hour: hours, cumulative_uv: visitors, top_category: categories };

async function draw() {
  const state = document.getElementById("state");
  try {
    const answer = await fetch("charts");
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    const found = await answer.json();
    for (const [name, make] of Object.entries(DRAW)) document.getElementById(name).replaceChildren(make(found[name]));
    state.textContent = Object.values(found).some(rows => rows.length) ? "" : "Nothing is there yet.";
  } catch (error) {
    state.textContent = `The charts cannot be drawn: ${error.message}`;
  }
  setTimeout(draw, 1000);
}

draw();
