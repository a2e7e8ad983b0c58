"use strict";
// Makes the figures of a page interactive: hovering shows values, the legend hides series, a drag
// zooms, and a double click shows everything again. Without it, the page shows the same figures.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  // Units of a drawing per pixel; then distances in units: from the pointer to a point near it,
  // between points that are shown together, and of the shortest drag.
  const UNIT = 10, NEAR = 40 * UNIT, TOGETHER = 4 * UNIT, SHORTEST = 6 * UNIT;
  // The smallest part of the plot that a zoom shows. Much smaller parts would exhaust the digits of
  // numbers, so that ticks would coincide.
  const SMALLEST = 1e-6;
  const numbers = (text) => text.trim().split(/[\s,]+/).map(Number);
  const made = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    parent.append(element);
    return element;
  };
  let count = 0;

  // An axis, which converts between its fractions, values and positions.
  class Axis {
    constructor(words, from, to) {
      const [scale, low, high] = words.split(" ");
      // Undefined for a linear axis.
      this.base = { log2: 2, log10: 10 }[scale];
      [this.low, this.high, this.from, this.to] = [Number(low), Number(high), from, to];
    }
    value(at) {
      const part = this.low + (at - this.from) / (this.to - this.from) * (this.high - this.low);
      return this.base ? this.base ** part : part;
    }
    at(value) {
      const part = this.base ? Math.log(value) / Math.log(this.base) : value;
      return this.from + (part - this.low) / (this.high - this.low) * (this.to - this.from);
    }
    // Returns round numbers between two positions, with their labels.
    ticks(one, other, most) {
      const [low, high] = [this.value(one), this.value(other)].sort((a, b) => a - b);
      if (this.base) {
        const log = (value) => Math.log(value) / Math.log(this.base);
        const [first, last] = [Math.ceil(log(low) - 1e-9), Math.floor(log(high) + 1e-9)];
        const stride = Math.ceil((last - first + 1) / most);
        if (last - first >= 2) {
          const powers = [];
          for (let power = first; power <= last; power += stride) powers.push(this.base ** power);
          return powers.map((value) => [value, shown(value, 0)]);
        }
      }
      const rough = (high - low) / (most - 1), ten = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((digit) => digit * ten).find((step) => step >= rough * 0.999);
      const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
      const length = Math.min(Math.max(last - first + 1, 0), most);
      return Array.from({ length }, (_, k) => {
        const value = (first + k) * step;
        return [value, shown(value, step)];
      });
    }
  }

  // Formats a round number with as many decimals as the step has.
  function shown(value, step) {
    if (value === 0) return "0";
    if (Math.abs(value) >= 1e9 || Math.abs(value) < 1e-6) {
      const place = (number) => Math.floor(Math.log10(Math.abs(number)) + 1e-9);
      const digits = step > 0 ? place(value) - place(step) + 1 : 3;
      return value.toPrecision(Math.min(Math.max(digits, 3), 17));
    }
    const decimals = step > 0 ? Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) : 0;
    const text = step > 0 ? value.toFixed(decimals) : String(Number(value.toPrecision(6)));
    const [whole, rest] = text.replace("-", "\u2212").split(".");
    const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, ",") : whole;
    return rest ? `${grouped}.${rest}` : grouped;
  }

  class Drawing {
    constructor(svg, figure) {
      this.svg = svg;
      this.data = svg.querySelector(".data");
      this.plot = numbers(this.data.dataset.plot);
      const [left, top, right, bottom] = this.plot;
      this.axes = [
        new Axis(this.data.dataset.x, left, right),
        new Axis(this.data.dataset.y, bottom, top),
      ];
      this.points = [...this.data.querySelectorAll("[data-y]")].map((element) => {
        const [x, y] = numbers(element.dataset.at);
        return { element, x, y, series: element.closest(".series") };
      });
      this.view = this.plot;
      this.tip = figure.querySelector(".tip");
      this.figure = figure;
      this.ring = made("circle", { class: "ring", r: 7 * UNIT, visibility: "hidden" }, svg);
      this.band = made("rect", { class: "band", visibility: "hidden" }, svg);
      // The shapes that a zoom moves, as they were drawn.
      this.shapes = [...this.data.querySelectorAll("polyline, polygon, rect, line, text")]
        .filter((shape) => !shape.closest(".point"))
        .map((shape) => [shape, this.places(shape)]);
      this.listen();
    }

    listen() {
      const svg = this.svg;
      this.widen();
      svg.addEventListener("pointerenter", () => this.widen());
      svg.addEventListener("pointermove", (event) => this.moved(event));
      svg.addEventListener("pointerleave", (event) => {
        // A finger also leaves when it is lifted.
        if (event.pointerType !== "touch") this.hide();
      });
      svg.addEventListener("pointerdown", (event) => {
        this.hover(event);
        const at = this.at(event);
        if (event.button !== 0 || event.pointerType === "touch" || !this.isInside(at)) return;
        event.preventDefault();
        this.start = at;
        svg.setPointerCapture(event.pointerId);
      });
      svg.addEventListener("pointerup", (event) => this.released(event));
      svg.addEventListener("pointercancel", () => this.cancelled());
      svg.addEventListener("dblclick", (event) => {
        if (!event.target.closest(".key")) this.zoom(this.plot);
      });
    }

    // Makes the whole area of a legend entry clickable, not only its letters.
    widen() {
      // A drawing that the style sheet hides at this width has no size yet.
      if (this.isWide || this.svg.getClientRects().length === 0) return;
      this.isWide = true;
      this.svg.querySelectorAll(".key").forEach((key) => {
        const { x, y, width, height } = key.getBBox();
        made("rect", { x, y, width, height, fill: "transparent" }, key);
      });
    }

    // Returns the position of an event, in units.
    at(event) {
      const at = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = at.matrixTransform(this.svg.getScreenCTM().inverse());
      return [x, y];
    }

    isInside([x, y]) {
      const [left, top, right, bottom] = this.plot;
      return x >= left && x <= right && y >= top && y <= bottom;
    }

    // Maps a position in the whole drawing to the part that is shown.
    mapped([x, y]) {
      const [left, top, right, bottom] = this.plot, [a, b, c, d] = this.view;
      return [
        left + (x - a) / (c - a) * (right - left),
        top + (y - b) / (d - b) * (bottom - top),
      ];
    }

    moved(event) {
      if (!this.start) return this.hover(event);
      const [x, y, right, bottom] = this.dragged(this.at(event));
      const size = { x, y, width: right - x, height: bottom - y, visibility: "visible" };
      Object.entries(size).forEach(([key, value]) => this.band.setAttribute(key, value));
      this.hide();
    }

    // Returns the rectangle between the start of a drag and a position.
    dragged([x, y]) {
      const [left, top, right, bottom] = this.plot, [a, b] = this.start;
      const [c, d] = [Math.min(Math.max(x, left), right), Math.min(Math.max(y, top), bottom)];
      return [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)];
    }

    cancelled() {
      this.start = undefined;
      this.band.setAttribute("visibility", "hidden");
    }

    released(event) {
      if (!this.start) return;
      const [left, top, right, bottom] = this.dragged(this.at(event));
      this.cancelled();
      if (right - left < SHORTEST || bottom - top < SHORTEST) return;
      const [p, q, r, s] = this.plot, [a, b, c, d] = this.view;
      const across = (x) => a + (x - p) / (r - p) * (c - a);
      const up = (y) => b + (y - q) / (s - q) * (d - b);
      const view = [across(left), up(top), across(right), up(bottom)];
      const isTooSmall = view[2] - view[0] < SMALLEST * (r - p)
        || view[3] - view[1] < SMALLEST * (s - q);
      if (!isTooSmall) this.zoom(view);
    }

    // Shows the values of the points next to an event.
    hover(event) {
      const at = this.at(event);
      const points = this.points.filter(({ series }) => !series.classList.contains("off"));
      const near = points
        .map((point) => {
          const [x, y] = this.mapped([point.x, point.y]);
          return { ...point, x, y, far: Math.hypot(x - at[0], y - at[1]) };
        })
        .filter((point) => this.isInside([point.x, point.y]) && point.far <= NEAR)
        .sort((one, other) => one.far - other.far);
      const [first] = near;
      if (!first) return this.hide();
      const together = (point) => Math.hypot(point.x - first.x, point.y - first.y) <= TOGETHER;
      this.show(first, near.filter(together));
    }

    show(first, points) {
      const words = (tag, textContent) =>
        Object.assign(document.createElement(tag), { textContent });
      const { xName, yName } = this.data.dataset, x = first.element.dataset.x;
      const rows = points.slice(0, 8).map(({ element, series }) => {
        const row = document.createElement("p");
        const { x: own, y } = element.dataset;
        if (series.dataset.label) row.append(words("b", series.dataset.label), ": ");
        row.append(own === x ? y : `${y} at ${own}`);
        return row;
      });
      this.tip.replaceChildren(words("p", `${xName}: ${x}`), words("p", yName), ...rows);
      this.tip.hidden = false;
      this.ring.setAttribute("cx", first.x);
      this.ring.setAttribute("cy", first.y);
      this.ring.setAttribute("visibility", "visible");
      const box = this.figure.getBoundingClientRect();
      const { x: left, y: top } =
        new DOMPoint(first.x, first.y).matrixTransform(this.svg.getScreenCTM());
      const { offsetWidth: width, offsetHeight: height } = this.tip;
      const wanted = left - box.left + 14;
      const fits = wanted + width <= box.width;
      this.tip.style.left = `${Math.max(0, fits ? wanted : wanted - width - 28)}px`;
      this.tip.style.top = `${Math.max(0, top - box.top - height - 10)}px`;
    }

    hide() {
      this.tip.hidden = true;
      this.ring.setAttribute("visibility", "hidden");
    }

    // Returns the corners of a shape.
    places(shape) {
      const of = (...names) => names.map((name) => Number(shape.getAttribute(name)));
      switch (shape.tagName) {
        case "line": return [of("x1", "y1"), of("x2", "y2")];
        case "text": return [of("x", "y")];
        case "rect": {
          const [x, y, width, height] = of("x", "y", "width", "height");
          return [[x, y], [x + width, y + height]];
        }
        default: {
          const all = numbers(shape.getAttribute("points"));
          return all.filter((_, k) => k % 2 === 0).map((x, k) => [x, all[2 * k + 1]]);
        }
      }
    }

    // Draws a shape with its corners at other positions.
    move(shape, places) {
      const at = places.map((place) => this.mapped(place));
      const set = (values) =>
        Object.entries(values).forEach(([name, value]) => shape.setAttribute(name, value));
      const [[x, y], [right, bottom] = []] = at;
      switch (shape.tagName) {
        case "line": return set({ x1: x, y1: y, x2: right, y2: bottom });
        case "text": return shape.setAttribute("visibility", this.isWhole() ? "visible" : "hidden");
        case "rect": return set({ x, y, width: right - x, height: bottom - y });
        default: return set({ points: at.map((place) => place.join(",")).join(" ") });
      }
    }

    isWhole() {
      return this.view === this.plot;
    }

    zoom(view) {
      this.view = view;
      this.hide();
      this.shapes.forEach(([shape, places]) => places.length && this.move(shape, places));
      this.data.querySelectorAll(".point").forEach((point) => {
        const from = numbers(point.dataset.at), to = this.mapped(from);
        const inside = this.isWhole() || this.isInside(to);
        point.setAttribute("visibility", inside ? "visible" : "hidden");
        point.setAttribute("transform", `translate(${to[0] - from[0]} ${to[1] - from[1]})`);
      });
      this.clip();
      this.rule();
    }

    // Hides shapes outside the plot while only a part is shown.
    clip() {
      if (this.isWhole()) return this.data.removeAttribute("clip-path");
      if (!this.clipping) {
        this.clipping = `clip-${count += 1}`;
        const [x, y, right, bottom] = this.plot;
        const path = made("clipPath", { id: this.clipping }, this.svg);
        made("rect", { x, y, width: right - x, height: bottom - y }, path);
      }
      this.data.setAttribute("clip-path", `url(#${this.clipping})`);
    }

    // Draws the grid and the numbers for the part that is shown.
    rule() {
      const whole = this.svg.querySelector(".ticks:not(.part)");
      this.svg.querySelector(".ticks.part")?.remove();
      whole.setAttribute("display", this.isWhole() ? "inline" : "none");
      if (this.isWhole()) return;
      const part = made("g", { class: "ticks part" }, this.svg);
      this.svg.insertBefore(part, whole);
      const [left, top, right, bottom] = this.plot, [a, b, c, d] = this.view;
      const stroke = whole.querySelector("line").getAttribute("stroke");
      const text = whole.querySelector("text");
      const style = Object.fromEntries(["font-size", "font-family", "fill"]
        .map((name) => [name, text.getAttribute(name)]));
      const number = (x, y, anchor, words) =>
        made("text", { x, y, "text-anchor": anchor, ...style }, part).textContent = words;
      const drawn = (x1, y1, x2, y2) =>
        made("line", { x1, y1, x2, y2, stroke, "stroke-width": UNIT }, part);
      this.axes[0].ticks(a, c, 7).forEach(([value, words]) => {
        const [x] = this.mapped([this.axes[0].at(value), top]);
        drawn(x, top, x, bottom);
        number(x, bottom + 18 * UNIT, "middle", words);
      });
      this.axes[1].ticks(d, b, 8).forEach(([value, words]) => {
        const [, y] = this.mapped([left, this.axes[1].at(value)]);
        drawn(left, y, right, y);
        number(left - 7 * UNIT, y + 4.5 * UNIT, "end", words);
      });
    }
  }

  function toggles(figure) {
    const keys = [...figure.querySelectorAll(".key")];
    keys.forEach((key) => {
      const { series } = key.dataset;
      const parts = figure.querySelectorAll(`[data-series="${series}"]`);
      const toggle = () => {
        const off = !key.classList.contains("off");
        parts.forEach((part) => part.classList.toggle("off", off));
        keys.filter((other) => other.dataset.series === series)
          .forEach((other) => other.setAttribute("aria-pressed", String(!off)));
      };
      key.setAttribute("role", "button");
      key.setAttribute("tabindex", "0");
      key.setAttribute("aria-pressed", "true");
      key.addEventListener("click", toggle);
      key.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
    });
  }

  document.querySelectorAll("figure").forEach((figure) => {
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    figure.append(tip);
    figure.querySelectorAll("svg").forEach((svg) => {
      if (!svg.querySelector(".data")) return;
      svg.setAttribute("role", "group");
      new Drawing(svg, figure);
    });
    toggles(figure);
  });
})();
