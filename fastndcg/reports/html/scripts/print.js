  // --- paper: details are open while the page is printed, in browsers whose styles cannot open them -------------------
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => details.setAttribute("open", ""));
  });
  addEventListener("afterprint", () => opened.forEach((details) => details.removeAttribute("open")));
