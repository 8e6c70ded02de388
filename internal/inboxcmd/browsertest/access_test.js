// What a page has to have so that everybody can use it. Gives a list of complaints.
(() => {
  const complaints = [];
  const say = (what, node) => complaints.push(what + ": " + node.outerHTML.slice(0, 120));
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (text) => {
    const parts = text.match(/[\d.]+/g).map(Number);
    return {rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1};
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.alpha === 1) return color.rgb;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const seen = (node) => node.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && node.getClientRects().length > 0;

  for (const node of document.body.querySelectorAll("*")) {
    const svg = node.namespaceURI.endsWith("/svg");
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !seen(node) || node.closest(".hidden, .skip, title, option, script")) continue;
    const style = getComputedStyle(node);
    let on = ground(node);
    if (svg && node.closest(".person")) on = parse(getComputedStyle(node.parentElement.querySelector("circle")).fill).rgb;
    const got = contrast(parse(svg ? style.fill : style.color).rgb, on);
    if (got < 4.5) say("contrast " + got.toFixed(2), node);
  }
  for (const node of document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a[href]")) {
    const name = node.getAttribute("aria-label") || (node.labels && [...node.labels].map((l) => l.innerText).join(" ")) || node.innerText;
    if (!name || !name.trim()) say("no name", node);
    if (seen(node) && node.matches("input:not([type=radio]):not([type=checkbox]), select, textarea, button.main") && node.getBoundingClientRect().height < 24) say("too small to touch", node);
  }
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id) || /\s/.test(id)) complaints.push("id " + id);
  for (const attribute of ["aria-describedby", "aria-labelledby", "for"]) {
    for (const node of document.querySelectorAll(`[${attribute}]`)) {
      if (!document.getElementById(node.getAttribute(attribute))) say(attribute + " leads nowhere", node);
    }
  }
  let last = 1;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) say("a heading is left out before", heading);
    last = level;
  }
  if (document.querySelectorAll("h1").length !== 1) complaints.push("not one h1");
  if (document.querySelectorAll("main").length !== 1) complaints.push("not one main");
  if (!document.documentElement.lang) complaints.push("no language");
  for (const image of document.querySelectorAll("img")) if (!image.hasAttribute("alt")) say("no alt", image);
  for (const svg of document.querySelectorAll("svg")) if (!svg.hasAttribute("aria-label") && svg.getAttribute("aria-hidden") !== "true") say("no name", svg);
  return complaints;
})()
