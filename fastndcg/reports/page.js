"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const PAGE = 25;

  // --- theme -------------------------------------------------------------------------------------------------------
  const theme = byId("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // --- tables that sort --------------------------------------------------------------------------------------------
  function makeSortable(table, sort) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      if (head.dataset.kind === "none") return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.dataset.kind === "text" ? "ascending" : "descending";
        const turned = first === "ascending" ? "descending" : "ascending";
        const wanted = head.getAttribute("aria-sort") === first ? turned : first;
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", wanted);
        sort(column, wanted === "ascending" ? 1 : -1, head.dataset.kind === "text");
      });
    });
  }

  const collator = new Intl.Collator("en", { numeric: true });

  function compared(one, other, direction, isText) {
    if (isText) return direction * collator.compare(one, other);
    const noneFirst = Number.isNaN(one), noneSecond = Number.isNaN(other);
    if (noneFirst || noneSecond) return noneFirst - noneSecond; // what is missing stays below
    return direction * (one - other);
  }

  document.querySelectorAll("table.sortable").forEach((table) => {
    makeSortable(table, (column, direction, isText) => {
      const body = table.tBodies[0];
      const key = (row) => {
        const cell = row.cells[column];
        return isText ? cell.textContent.trim() : parseFloat(cell.dataset.value);
      };
      [...body.rows]
        .map((row) => [key(row), row])
        .sort((one, other) => compared(one[0], other[0], direction, isText))
        .forEach(([, row]) => body.append(row));
    });
  });

  // --- queries -----------------------------------------------------------------------------------------------------
  const data = JSON.parse(byId("data").textContent);
  const MISSING = 65535;
  const DIFFERENCE = 1; // the columns: query, difference, its bar, the system's value, the baseline's
  const numbers = data.metrics.map((metric) => {
    const bytes = Uint8Array.from(atob(metric.values), (character) => character.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Array.from({ length: bytes.length / 2 }, (_, place) => view.getUint16(2 * place, true));
  });
  const state = { metric: 0, system: 0, segment: "", which: "all", search: "", column: DIFFERENCE, direction: -1, shown: PAGE };

  function valueOf(metric, system, query) {
    const whole = numbers[metric][system * data.queries.length + query];
    return whole === MISSING ? NaN : whole + data.metrics[metric].base;
  }

  function rowsOf() {
    const rows = [];
    const search = state.search.toLowerCase();
    for (let query = 0; query < data.queries.length; query += 1) {
      const name = data.queries[query];
      if (search && !name.toLowerCase().includes(search)) continue;
      if (state.segment && data.segments[query] !== state.segment) continue;
      const base = valueOf(state.metric, data.baseline, query);
      const own = valueOf(state.metric, state.system, query);
      const difference = own - base;
      if (state.which === "won" && !(difference > 0)) continue;
      if (state.which === "lost" && !(difference < 0)) continue;
      if (state.which === "tied" && difference !== 0) continue;
      rows.push([name, difference, null, own, base]);
    }
    const isText = state.column === 0;
    return rows.sort(
      (one, other) => compared(one[state.column], other[state.column], state.direction, isText) || collator.compare(one[0], other[0]),
    );
  }

  function cell(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (tag === "th") made.scope = "row";
    return made;
  }

  function bar(difference, reach) {
    const made = document.createElement("td");
    const line = document.createElement("span");
    const fill = document.createElement("i");
    line.className = "delta";
    line.setAttribute("aria-hidden", "true");
    if (difference) {
      const share = (50 * Math.abs(difference)) / reach;
      fill.className = difference > 0 ? "won" : "lost";
      fill.style.width = `${share}%`;
      fill.style.left = difference > 0 ? "50%" : `${50 - share}%`;
      line.append(fill);
    }
    made.append(line);
    return made;
  }

  function show() {
    const rows = rowsOf();
    const { unit, decimals, name } = data.metrics[state.metric];
    const text = (whole) => (Number.isNaN(whole) ? "undefined" : (whole * unit).toFixed(decimals));
    const signed = (whole) => (Number.isNaN(whole) ? "n/a" : (whole < 0 ? "−" : "+") + Math.abs(whole * unit).toFixed(decimals));
    const reach = rows.reduce((most, row) => (Math.abs(row[DIFFERENCE]) > most ? Math.abs(row[DIFFERENCE]) : most), 0) || 1;
    const body = byId("query-table").tBodies[0];
    body.replaceChildren(
      ...rows.slice(0, state.shown).map(([query, difference, , own, base]) => {
        const row = document.createElement("tr");
        row.append(cell("th", query), cell("td", signed(difference)), bar(difference, reach), cell("td", text(own)), cell("td", text(base)));
        return row;
      }),
    );
    const system = data.systems[state.system];
    byId("own-head").querySelector("button").textContent = system;
    byId("status").textContent =
      `${system} against ${data.systems[data.baseline]}, ${name}: ${Math.min(rows.length, state.shown)} of ${rows.length} queries shown.`;
    byId("more").hidden = rows.length <= state.shown;
  }

  function fill(select, names, values, chosen) {
    names.forEach((name, place) => select.add(new Option(name, values[place], false, values[place] === chosen)));
  }

  const others = data.systems.map((_, place) => place).filter((place) => place !== data.baseline);
  const first = data.systems.indexOf(byId("own-head").textContent.trim());
  state.system = first < 0 ? others[0] : first;
  fill(byId("metric"), data.metrics.map((metric) => metric.name), data.metrics.map((_, place) => place), 0);
  fill(byId("system"), others.map((place) => data.systems[place]), others, state.system);
  if (data.segments) {
    const segments = [...new Set(data.segments)].sort(collator.compare);
    fill(byId("segment"), ["all", ...segments], ["", ...segments], "");
    byId("segment-label").hidden = false;
  }
  makeSortable(byId("query-table"), (column, direction) => {
    Object.assign(state, { column, direction, shown: PAGE });
    show();
  });
  byId("query-table").querySelectorAll("thead th")[DIFFERENCE].setAttribute("aria-sort", "descending");
  const numeric = ["metric", "system"];
  ["metric", "system", "segment", "which", "search"].forEach((id) => {
    byId(id).addEventListener("input", (event) => {
      state[id] = numeric.includes(id) ? Number(event.target.value) : event.target.value;
      state.shown = PAGE;
      show();
    });
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => {
    state.shown += 4 * PAGE;
    show();
  });
  byId("filters").hidden = false;
  show();

  // --- tooltips ----------------------------------------------------------------------------------------------------
  const tooltip = byId("tooltip");
  document.querySelectorAll(".tip").forEach((mark) => {
    const title = mark.querySelector("title");
    const said = title.textContent;
    title.remove(); // or the browser would show it, too
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", said);
    const place = (x, y) => {
      tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tooltip.offsetWidth - 8))}px`;
      tooltip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - tooltip.offsetHeight - 8))}px`;
    };
    const bands = mark.dataset.band ? mark.closest("svg").querySelectorAll(`.band[data-band="${mark.dataset.band}"]`) : [];
    const open = (x, y) => {
      bands.forEach((band) => band.classList.add("shown"));
      tooltip.textContent = said;
      tooltip.hidden = false;
      place(x, y);
    };
    mark.addEventListener("pointerenter", (event) => open(event.clientX, event.clientY));
    mark.addEventListener("pointermove", (event) => place(event.clientX, event.clientY));
    mark.addEventListener("focus", () => {
      const box = mark.getBoundingClientRect();
      open(box.right, box.bottom);
    });
    ["pointerleave", "blur"].forEach((event) => mark.addEventListener(event, () => {
      tooltip.hidden = true;
      bands.forEach((band) => band.classList.remove("shown"));
    }));
  });
})();
