// Renews a page when what it shows has changed. Without it everything works by loading the page again.
"use strict";
(() => {
  const body = document.body;
  const announce = document.getElementById("announce");
  const stale = document.getElementById("stale");
  let shown = body.dataset.version, source = null, renewing = false, again = false, lost = null;

  // Times in words go on by themselves.
  const words = (seconds) => {
    const s = Math.abs(Math.round(seconds)), two = (n) => String(n).padStart(2, "0");
    if (s < 60) return s + "s";
    if (s < 3600) return Math.floor(s / 60) + "m" + two(s % 60) + "s";
    if (s < 172800) return Math.floor(s / 3600) + "h" + two(Math.floor(s % 3600 / 60)) + "m";
    const days = Math.floor(s / 86400), hours = Math.floor(s % 86400 / 3600);
    return days + " days" + (hours ? " " + hours + "h" : "");
  };
  const tick = () => {
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const at = new Date(time.dateTime), left = (at - Date.now()) / 1000;
      time.textContent = left >= 0 ? "in " + words(left) : words(left) + " ago";
      if (!time.dataset.local) {
        time.dataset.local = "1";
        time.title += " (" + at.toLocaleString() + " here)";
      }
    }
  };
  tick();
  setInterval(tick, 1000);

  const notice = document.getElementById("notice");
  if (notice) notice.focus();

  if (!body.dataset.liveFrom || !window.EventSource) return;

  // A part is replaced when it differs. One with a key, which holds a form, only when the key differs: nobody loses what they type.
  const replace = (old, fresh) => {
    if ("key" in old.dataset ? old.dataset.key === fresh.dataset.key : old.innerHTML === fresh.innerHTML) return false;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const mark = focused && (focused.id ? "#" + CSS.escape(focused.id) : focused.getAttribute("href") ? `a[href="${CSS.escape(focused.getAttribute("href"))}"]` : null);
    const typed = "key" in old.dataset && [...old.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue);
    old.replaceWith(fresh);
    if (old.dataset.part !== "tabs") fresh.classList.add("changed");
    const next = mark && document.querySelector(mark);
    if (next) next.focus({preventScroll: true});
    if (typed) say("The question you were answering is not open any more.", true);
    return true;
  };

  const say = (text, loud) => {
    announce.textContent = text;
    if (loud) {
      clearTimeout(lost);
      lost = null;
      stale.textContent = text;
      stale.hidden = false;
    }
  };

  // A page that nobody can bring up to date says so, until somebody can.
  const outdated = "The inbox cannot tell what is new at the moment: what you see may be out of date.";
  const late = () => {
    if (stale.hidden) lost ??= setTimeout(() => say(outdated, true), 20000);
  };
  const heard = () => {
    clearTimeout(lost);
    lost = null;
    if (stale.textContent !== outdated) return;
    stale.textContent = announce.textContent = "";
    stale.hidden = true;
  };

  const renew = async () => {
    if (renewing) {
      again = true;
      return;
    }
    renewing = true;
    let pause = 300;
    try {
      const answer = await fetch(location.href, {headers: {Accept: "text/html"}, cache: "no-store"});
      if (answer.redirected || answer.status === 403 || answer.status === 404) return;
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      shown = fresh.body.dataset.version;
      document.title = fresh.title;
      let changed = false;
      for (const old of document.querySelectorAll("[data-part]")) {
        const next = fresh.querySelector(`[data-part="${old.dataset.part}"]`);
        if (next && replace(old, document.adoptNode(next)) && old.dataset.part !== "tabs") changed = true;
      }
      tick();
      heard();
      if (changed) say("This page has changed: " + (document.querySelector("h1")?.textContent || ""), false);
      if (!fresh.body.dataset.liveFrom && source) source.close();
    } catch {
      // There may be no further event: what has changed is shown as soon as it can be read.
      again = true;
      pause = 5000;
      late();
    } finally {
      renewing = false;
      if (again) {
        again = false;
        setTimeout(renew, pause);
      }
    }
  };

  const open = () => {
    if (source) source.close();
    source = new EventSource(body.dataset.liveFrom);
    source.addEventListener("version", (event) => {
      heard();
      if (event.data !== shown) renew();
    });
    source.addEventListener("stale", () => say(outdated, true));
    source.addEventListener("signed-out", () => {
      source.close();
      say("You are not signed in any more. Load the page again.", true);
    });
    // A browser asks again after a break by itself, and gives up when it is turned away.
    source.addEventListener("error", (event) => {
      if (event.target.readyState === EventSource.CLOSED) say("This page is not renewed any more. Load it again.", true);
      else late();
    });
  };
  // A browser keeps few connections to one server: tabs that nobody sees do without.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source?.close();
    else open();
  });
  if (!document.hidden) open();
})();
