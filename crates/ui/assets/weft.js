// Weft's pages work without this script, except uploads of files. It adds: "/" moves the focus to the
// search box, words are completed while they are typed, menus close, parts of a page that change are
// fetched repeatedly, and network diagrams can be enlarged.
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

  // Completions below the search box (the combobox pattern of the ARIA practices): arrows choose,
  // Enter searches for the chosen one, Escape closes. Only the answer for the current text is
  // shown. After a failure the list is closed.
  const suggesting = (box) => {
    const list = document.createElement("ul");
    list.id = `${box.id}-suggestions`;
    list.className = "suggestions";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Suggestions");
    list.hidden = true;
    box.after(list);
    box.setAttribute("role", "combobox");
    box.setAttribute("aria-autocomplete", "list");
    box.setAttribute("aria-controls", list.id);
    box.setAttribute("aria-expanded", "false");
    let typed = box.value;
    let chosen = -1;
    let wait = 0;
    const close = () => {
      list.hidden = true;
      chosen = -1;
      box.setAttribute("aria-expanded", "false");
      box.removeAttribute("aria-activedescendant");
    };
    const choose = (index) => {
      const rows = [...list.children];
      chosen = (index + rows.length + 1) % (rows.length + 1);
      rows.forEach((row, at) => row.setAttribute("aria-selected", String(at === chosen)));
      const row = rows[chosen];
      // After the last row comes the typed text.
      box.value = row ? row.textContent : typed;
      if (row) box.setAttribute("aria-activedescendant", row.id);
      else box.removeAttribute("aria-activedescendant");
    };
    const show = (rows) => {
      list.replaceChildren(
        ...rows.map(({ text }, at) => {
          const row = document.createElement("li");
          row.id = `${list.id}-${at}`;
          row.dir = "auto";
          row.setAttribute("role", "option");
          row.setAttribute("aria-selected", "false");
          row.textContent = text;
          return row;
        }),
      );
      chosen = -1;
      list.hidden = rows.length === 0;
      box.setAttribute("aria-expanded", String(rows.length > 0));
      box.removeAttribute("aria-activedescendant");
    };
    const ask = async () => {
      const text = typed;
      if (!text.trim()) return close();
      try {
        const response = await fetch(`${box.dataset.suggest}?q=${encodeURIComponent(text)}`);
        const rows = response.ok ? (await response.json()).rows : [];
        if (box.value === text && document.activeElement === box) show(rows.filter((row) => row.text !== text));
      } catch {
        close();
      }
    };
    box.addEventListener("input", () => {
      typed = box.value;
      clearTimeout(wait);
      wait = setTimeout(ask, 120);
    });
    box.addEventListener("keydown", (event) => {
      if (list.hidden || event.isComposing) return;
      if (event.key === "ArrowDown") choose(chosen < 0 ? 0 : chosen + 1);
      else if (event.key === "ArrowUp") choose(chosen < 0 ? list.children.length - 1 : chosen - 1);
      else if (event.key === "Escape") {
        box.value = typed;
        close();
      } else return;
      event.preventDefault();
    });
    box.addEventListener("blur", close);
    // Before the box loses the focus.
    list.addEventListener("pointerdown", (event) => {
      const row = event.target instanceof Element && event.target.closest("li");
      if (!row) return;
      event.preventDefault();
      box.value = row.textContent;
      box.form.requestSubmit();
    });
  };

  document.querySelectorAll("[data-suggest]").forEach(suggesting);

  // Menus are `details`: a click elsewhere or Escape closes them.
  const openMenus = () => document.querySelectorAll("details.submenu[open]");
  document.addEventListener("click", (event) => {
    openMenus().forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    openMenus().forEach((menu) => {
      if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
      menu.open = false;
    });
  });

  // A live part names the address of its content and how often to fetch it. Nothing is fetched
  // while the page is hidden. After a failure the pause grows, and the part is marked as stale.
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
        // A part that contains the focus or a selection of the reader is not replaced.
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

  // A link to a figure that takes a while: a click shows the figure in place of the link. If that
  // fails, the click follows the link.
  document.querySelectorAll("a[data-in-place]").forEach((link) => {
    const place = document.createElement("span");
    place.setAttribute("role", "status");
    link.after(place);
    link.addEventListener("click", async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      if (link.hasAttribute("aria-busy")) return;
      link.setAttribute("aria-busy", "true");
      place.textContent = "Checking\u2026";
      try {
        const response = await fetch(link.href);
        if (!response.ok) throw new Error(String(response.status));
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        const details = document.createElement("a");
        details.href = link.getAttribute("href");
        details.append(page.querySelector(link.dataset.inPlace));
        place.replaceChildren(details);
        const held = document.activeElement === link;
        link.remove();
        if (held) details.focus();
      } catch {
        location.assign(link.href);
      }
    });
  });

  // A network diagram is enlarged by two fingers, or by the wheel with Ctrl (which is also what the
  // pinch of a touchpad sends), so that the wheel alone still scrolls the page. Dragging moves it,
  // and a double click shows all of it.
  const enlargeable = (svg) => {
    const { width, height } = svg.viewBox.baseVal;
    const view = { x: 0, y: 0, scale: 1 };
    const between = (least, value, most) => Math.min(most, Math.max(least, value));
    const show = (x, y, scale) => {
      view.scale = scale;
      view.x = between(0, x, width - width / scale);
      view.y = between(0, y, height - height / scale);
      svg.setAttribute("viewBox", `${view.x} ${view.y} ${width / scale} ${height / scale}`);
    };
    // What is at this point of the window stays there.
    const zoom = (x, y, factor) => {
      const box = svg.getBoundingClientRect();
      const scale = between(1, view.scale * factor, 12);
      const more = 1 / view.scale - 1 / scale;
      show(view.x + ((x - box.left) / box.width) * width * more, view.y + ((y - box.top) / box.height) * height * more, scale);
    };
    const move = (x, y) => {
      const box = svg.getBoundingClientRect();
      show(view.x - ((x / box.width) * width) / view.scale, view.y - ((y / box.height) * height) / view.scale, view.scale);
    };
    svg.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        zoom(event.clientX, event.clientY, Math.exp(-between(-50, event.deltaY, 50) / 100));
      },
      { passive: false },
    );
    const middle = (one, other) => ({
      x: (one.clientX + other.clientX) / 2,
      y: (one.clientY + other.clientY) / 2,
      apart: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1,
    });
    let fingers;
    svg.addEventListener(
      "touchmove",
      (event) => {
        if (event.touches.length !== 2) return;
        event.preventDefault();
        const now = middle(event.touches[0], event.touches[1]);
        if (fingers) {
          zoom(fingers.x, fingers.y, now.apart / fingers.apart);
          move(now.x - fingers.x, now.y - fingers.y);
        }
        fingers = now;
      },
      { passive: false },
    );
    svg.addEventListener("touchstart", () => (fingers = undefined), { passive: true });
    svg.addEventListener("touchend", () => (fingers = undefined));
    let held;
    let moved = 0;
    svg.addEventListener("dragstart", (event) => event.preventDefault());
    svg.addEventListener("pointerdown", (event) => {
      moved = 0;
      held = event.pointerType === "mouse" && event.button === 0 && view.scale > 1 ? event : undefined;
    });
    window.addEventListener("pointermove", (event) => {
      if (!held) return;
      const [x, y] = [event.clientX - held.clientX, event.clientY - held.clientY];
      moved += Math.hypot(x, y);
      move(x, y);
      held = event;
    });
    window.addEventListener("pointerup", () => (held = undefined));
    // The end of a drag is no click on a node.
    svg.addEventListener("click", (event) => moved > 4 && event.preventDefault());
    svg.addEventListener("dblclick", () => show(0, 0, 1));
  };

  document.querySelectorAll(".network svg").forEach(enlargeable);
  document.querySelectorAll("[data-with-script]").forEach((part) => (part.hidden = false));

  // The statement of the SQL page: Ctrl-Enter runs it, a click on a column inserts its name, and
  // after an error the cursor is at the place of the error.
  const statement = document.getElementById("statement");
  if (statement) {
    const form = statement.form;
    statement.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      form.requestSubmit();
    });
    form.addEventListener("submit", () => {
      form.setAttribute("aria-busy", "true");
      form.querySelector("button").textContent = "Running\u2026 (Esc to stop)";
    });
    const ready = () => {
      form.removeAttribute("aria-busy");
      form.querySelector("button").textContent = "Run";
    };
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !form.hasAttribute("aria-busy")) return;
      window.stop();
      ready();
    });
    // On the way back in history, a page is restored as it was left.
    window.addEventListener("pageshow", ready);
    document.addEventListener("click", (event) => {
      const name = event.target instanceof Element && event.target.closest("[data-insert]");
      if (!name) return;
      statement.setRangeText(name.dataset.insert, statement.selectionStart, statement.selectionEnd, "end");
      statement.focus();
    });
    if (statement.dataset.line) {
      const before = statement.value.split("\n").slice(0, Number(statement.dataset.line) - 1);
      const at = before.reduce((sum, line) => sum + line.length + 1, 0) + Number(statement.dataset.column) - 1;
      statement.focus();
      statement.setSelectionRange(at, at + 1);
    }
  }

  // Files are uploaded one after the other, each as the body of a request. They are chosen in the
  // form or dropped anywhere on the page. If all succeed, the page of loads shows their loads.
  const upload = document.querySelector("form[data-upload]");
  if (upload) {
    const chosen = upload.querySelector("input[type=file]");
    const uploads = document.createElement("div");
    uploads.className = "uploads";
    uploads.setAttribute("role", "status");
    const rows = document.createElement("ul");
    uploads.append(rows);
    upload.after(uploads);
    upload.hidden = false;
    const reason = (request) => {
      try {
        return JSON.parse(request.responseText).error.message;
      } catch {
        return request.status ? `status ${request.status}` : "the connection ended";
      }
    };
    // Resolves to whether the file is stored and its load has started.
    const send = (file) =>
      new Promise((resolve) => {
        const row = document.createElement("li");
        const words = document.createElement("span");
        const progress = document.createElement("progress");
        progress.setAttribute("aria-label", `Upload of ${file.name}`);
        words.textContent = file.name;
        row.append(words, progress);
        rows.append(row);
        const end = (stored, text) => {
          progress.remove();
          words.textContent = `${file.name}: ${text}`;
          words.className = stored ? "" : "bad";
          resolve(stored);
        };
        if (file.size > Number(upload.dataset.bytesMax)) return end(false, "the file is too large");
        const query = new URLSearchParams({ name: file.name });
        const label = upload.elements.collection.value.trim();
        if (label) query.set("collection", label);
        const request = new XMLHttpRequest();
        request.upload.addEventListener("progress", (event) => {
          if (event.lengthComputable && event.total) progress.value = event.loaded / event.total;
        });
        request.addEventListener("loadend", () => {
          const stored = request.status === 200;
          end(stored, stored ? "stored, its load has started" : reason(request));
        });
        request.open("POST", `${upload.dataset.upload}?${query}`);
        request.setRequestHeader("Content-Type", "application/octet-stream");
        request.send(file);
      });
    let turn = Promise.resolve();
    const sendAll = (files) => {
      turn = turn.then(async () => {
        let stored = files.length > 0;
        for (const file of files) stored = (await send(file)) && stored;
        if (stored) location.assign("/loads");
      });
    };
    upload.addEventListener("submit", (event) => {
      event.preventDefault();
      sendAll([...chosen.files]);
      chosen.value = "";
    });
    const holdsFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
    document.addEventListener("dragover", (event) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      upload.classList.add("dropping");
    });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) upload.classList.remove("dropping");
    });
    document.addEventListener("drop", (event) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      upload.classList.remove("dropping");
      sendAll([...event.dataTransfer.files]);
    });
  }

  // The bar of an archived page follows the reader's navigation in it. The messages of the frame are
  // only used as an address to show, and are accepted only from this frame.
  const replay = document.querySelector("iframe.replay");
  if (replay) {
    // The page is shown in the origin of its site. If the browser cannot do that, or the page does not
    // arrive in time, it is shown by its path.
    const WAIT_MS = 6000;
    const WITHOUT = "weft-without-origins";
    let { address, path } = replay.dataset;
    let inOrigin = false;
    let waiting;
    const showByPath = () => {
      clearTimeout(waiting);
      inOrigin = false;
      replay.setAttribute("sandbox", "allow-scripts allow-forms");
      replay.src = path;
    };
    const wait = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        // If no page ever arrived, the browser does not find the name, and the next page does not wait.
        sessionStorage.setItem(WITHOUT, sessionStorage.getItem(WITHOUT) ?? "1");
        showByPath();
      }, WAIT_MS);
    };
    if (address && sessionStorage.getItem(WITHOUT)) showByPath();
    else if (address) {
      inOrigin = true;
      replay.setAttribute("sandbox", "allow-scripts allow-forms allow-same-origin");
      replay.src = address;
      wait();
    }
    document.addEventListener("click", (event) => {
      if (!inOrigin || !event.target.closest("[data-clear]")) return;
      replay.src = new URL("/__weft/clear", address).href;
    });
    let shown;
    const follow = async (here, title) => {
      history.replaceState(null, "", here);
      document.title = title || document.title;
      const answer = await fetch(here);
      const next = new DOMParser().parseFromString(await answer.text(), "text/html");
      const bar = next.querySelector(".replay-bar");
      if (shown !== here) return;
      ({ address = address, path = path } = next.querySelector("iframe.replay")?.dataset ?? {});
      // Without a bar it is the page for what cannot be shown, with captures that are near.
      if (bar) document.querySelector(".replay-bar").replaceWith(bar);
      else location.assign(here);
    };
    window.addEventListener("message", (event) => {
      if (event.source !== replay.contentWindow || !event.data) return;
      const { weft, url, time, title } = event.data;
      if (weft === "installing") wait();
      if (weft === "cleared" && inOrigin) replay.src = address;
      if (weft === "no-origin" && inOrigin) {
        sessionStorage.setItem(WITHOUT, "1");
        showByPath();
      }
      if (weft === "arrived" && inOrigin) {
        clearTimeout(waiting);
        sessionStorage.setItem(WITHOUT, "");
      }
      if (weft !== "replay") return;
      if (typeof url !== "string" || typeof time !== "string" || !/^https?:\/\//.test(url) || !/^\d{0,17}$/.test(time)) return;
      // Without dot segments, which would lead out of /replay/.
      const plain = URL.canParse(url) ? new URL(url).href : "";
      if (!/^https?:\/\//.test(plain)) return;
      // The origin of a site has its own time, which stays.
      const at = inOrigin ? new URL(address).host.split(".")[1] : time;
      const here = "/replay/" + (at && at + "/") + plain.replace(/#.*/, "");
      // The first is the page of this bar.
      shown ??= here;
      if (here === shown) return;
      if (inOrigin) {
        shown = here;
        follow(here, typeof title === "string" ? title : "");
      } else location.assign(here);
    });
  }
})();
