  // --- curves: a system is highlighted by its line or by its name in the legend -------------------------------------
  document.querySelectorAll("figure.curves").forEach((figure) => {
    const drawing = figure.querySelector("svg.curves");
    const lines = [...drawing.querySelectorAll(".line")];
    const buttons = [];
    let pinned = null;

    function highlight(system) {
      drawing.classList.toggle("has-active", system !== null);
      lines.forEach((line) => line.classList.toggle("active", line.dataset.system === system));
      drawing.querySelectorAll("[data-band]:not(.line)").forEach((band) => band.classList.toggle("shown", band.dataset.band === system));
      buttons.forEach((button) => button.classList.toggle("active", button.dataset.system === system));
    }

    function pin(system) {
      pinned = pinned === system ? null : system;
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.system === pinned)));
      highlight(pinned);
    }

    figure.querySelectorAll(".legend li").forEach((item) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.system = item.dataset.system;
      button.setAttribute("aria-pressed", "false");
      button.append(...item.childNodes);
      item.append(button);
      buttons.push(button);
      const line = lines.find((other) => other.dataset.system === button.dataset.system);
      button.addEventListener("focus", () => openTooltipBeside(button, line.getAttribute("aria-label")));
      button.addEventListener("blur", closeTooltip);
      button.addEventListener("click", () => pin(button.dataset.system));
    });
    [...lines, ...buttons].forEach((mark) => {
      ["pointerenter", "focus"].forEach((event) => mark.addEventListener(event, () => highlight(mark.dataset.system)));
      ["pointerleave", "blur"].forEach((event) => mark.addEventListener(event, () => highlight(pinned)));
    });
    lines.forEach((line) => line.addEventListener("click", () => pin(line.dataset.system)));
  });
