// The small page of the first visit to the origin of an archived site. It installs the worker and
// loads the address again. It contains no captures.
"use strict";
(async () => {
  const TRIES = "weft-tries";
  // The archive's page around this one waits for this message, or shows the page in another way. The
  // frame of an archived page tells nothing to that page.
  const tell = (weft) => { if (parent === top) top.postMessage({ weft }, "*"); };
  try {
    tell("installing");
    // A browser that never gives the page to the worker must not load it forever.
    const tries = Number(sessionStorage.getItem(TRIES)) + 1;
    sessionStorage.setItem(TRIES, tries);
    if (tries > 3) throw new Error("the worker does not answer");
    // The script at the head of documents depends on these two: it prepares the window of an empty
    // frame before a script can use it, and it sees where a script navigates to.
    let isInTime = false;
    document.addEventListener("load", () => { isInTime = true; }, true);
    const frame = document.createElement("iframe");
    document.body.append(frame);
    if (!isInTime || !window.navigation) throw new Error("the browser cannot keep it in the archive");
    frame.remove();
    const registration = await navigator.serviceWorker.register("/__weft/worker.js", { scope: "/", updateViaCache: "none" });
    const worker = registration.installing || registration.waiting || registration.active;
    await new Promise((resolve, reject) => {
      const check = () => {
        if (worker.state === "activated") resolve();
        if (worker.state === "redundant") reject(new Error("the worker was replaced"));
      };
      worker.addEventListener("statechange", check);
      check();
    });
    location.reload();
  } catch (error) {
    document.getElementById("state").textContent = "This page cannot be shown here: " + error.message + ".";
    tell("no-origin");
  }
})();
