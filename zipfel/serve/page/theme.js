// Sets the theme before the page is drawn: as chosen here, else as the system has it.
"use strict";
try {
  const chosen = localStorage.getItem("zipfel-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch { /* storage is blocked: the system's theme holds */ }
