  // --- tooltips ----------------------------------------------------------------------------------------------------
  const tooltip = byId("tooltip");

  function moveTooltip(x, y) {
    tooltip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tooltip.offsetWidth - 8))}px`;
    tooltip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - tooltip.offsetHeight - 8))}px`;
  }

  function openTooltip(text, x, y) {
    tooltip.textContent = text;
    tooltip.hidden = false;
    moveTooltip(x, y);
  }

  function openTooltipBeside(element, text) {
    const box = element.getBoundingClientRect();
    openTooltip(text, box.right, box.bottom);
  }

  function closeTooltip() {
    tooltip.hidden = true;
  }

  document.querySelectorAll(".tip").forEach((mark) => {
    const title = mark.querySelector("title");
    const text = title.textContent;
    title.remove(); // otherwise the browser shows a second tooltip
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", text);
    mark.addEventListener("pointerenter", (event) => openTooltip(text, event.clientX, event.clientY));
    mark.addEventListener("pointermove", (event) => moveTooltip(event.clientX, event.clientY));
    mark.addEventListener("focus", () => openTooltipBeside(mark, text));
    ["pointerleave", "blur"].forEach((event) => mark.addEventListener(event, closeTooltip));
  });
