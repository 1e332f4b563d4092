// Before the first paint, so that the page never flashes in the other colours. The button is wired in main.js.
"use strict";
(function () {
  const wanted = localStorage.getItem("theme");
  if (wanted === "light" || wanted === "dark") document.documentElement.dataset.theme = wanted;
})();
