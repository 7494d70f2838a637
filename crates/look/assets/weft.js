// Weft's pages work without this. It adds: "/" goes to the search box, and parts of a page that change
// while one looks at them are fetched again.
"use strict";

(() => {
  const typing = (target) =>
    target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName));

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const box = document.getElementById("q");
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.select();
  });

  // A live part names the address of its content and how often to fetch it. Nothing is fetched while the
  // page is out of sight; after a failure the pause grows, and the part says that it is not up to date.
  const live = (part) => {
    const every = Number(part.dataset.everyMs) || 2000;
    let pause = every;
    const again = () => setTimeout(fetchPart, pause);
    const fetchPart = async () => {
      if (document.hidden) return again();
      try {
        const response = await fetch(part.dataset.live, { headers: { Accept: "text/html" }, cache: "no-store" });
        if (!response.ok) throw new Error(String(response.status));
        const content = await response.text();
        // A reader who is on a link in the part, or has selected text there, keeps what is under the hand.
        const selection = document.getSelection();
        const held = part.contains(document.activeElement) || (selection && !selection.isCollapsed && part.contains(selection.anchorNode));
        if (!held) {
          part.innerHTML = content;
        }
        part.classList.remove("stale");
        pause = every;
      } catch {
        part.classList.add("stale");
        pause = Math.min(pause * 2, 30000);
      }
      again();
    };
    again();
  };

  document.querySelectorAll("[data-live]").forEach(live);
})();
