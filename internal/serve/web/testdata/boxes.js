() => {
  const wrong = [];
  const name = e => {
    const text = (e.textContent || "").trim().replace(/\s+/g, " ").slice(0, 50);
    return `<${e.tagName.toLowerCase()}${e.className && e.className.baseVal === undefined ? " " + e.className : ""}> “${text}”`;
  };
  const said = new Set();
  const say = (what, ...els) => {
    const text = els.map(name).join(" / ");
    if (wrong.length < 12 && !said.has(what.split(", ").pop() + text)) wrong.push(what + ": " + text);
    said.add(what.split(", ").pop() + text);
  };
  const seen = e => e.checkVisibility({ contentVisibilityAuto: true, opacityProperty: true, visibilityProperty: true }) && !e.closest(".unseen, .skip, .sprite, template");
  const scrolls = e => { for (; e && e !== document.body; e = e.parentElement) if (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX)) return true; return false; };
  const outOfFlow = e => /absolute|fixed|sticky/.test(getComputedStyle(e).position);
  const overlap = (a, b) => Math.min(Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
  // Where the text of an element is seen: each line of each of its texts.
  const lines = e => {
    const out = [], walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let n = walk.nextNode(); n; n = walk.nextNode()) {
      if (!n.data.trim() || !seen(n.parentElement)) continue;
      const r = document.createRange();
      r.selectNodeContents(n);
      out.push(...r.getClientRects());
    }
    return out;
  };

  const check = when => {
    if (document.documentElement.scrollWidth > innerWidth + 1) say(when + "the page is wider than the window", document.body);
    for (const e of document.querySelectorAll("body *")) {
      if (e.closest("svg, script") || !seen(e)) continue;
      const box = e.getBoundingClientRect();
      if (box.width && box.right > innerWidth + 1 && !scrolls(e.parentElement)) say(`${when}ends at ${Math.round(box.right)}`, e);
      if (box.width && box.left < -20 && !scrolls(e.parentElement)) say(`${when}begins at ${Math.round(box.left)}`, e);
      for (const n of e.childNodes) { // an ordinary word is on one line
        if (n.nodeType !== 3) continue;
        let words = 0;
        for (const m of n.data.matchAll(/(?<=^|\s)[\x21-\x7e]{2,14}(?=\s|$)/g)) {
          if (++words > 300) break;
          const r = document.createRange();
          r.setStart(n, m.index);
          r.setEnd(n, m.index + m[0].length);
          const at = [...r.getClientRects()].filter(x => x.width > 0);
          if (at.length > 1 && /^[a-z0-9]+$/i.test(m[0]) && at.at(-1).top >= at[0].bottom - 2) { say(`${when}the word “${m[0]}” is broken`, e); break; }
        }
      }
      // Parts of one thing are beside each other, not on top of each other.
      const parts = [...e.children].filter(c => seen(c) && !outOfFlow(c) && !c.closest("svg") && getComputedStyle(c).display !== "inline" && c.getBoundingClientRect().width > 1);
      for (let i = 1; i < parts.length && i < 200; i++) {
        if (overlap(parts[i - 1].getBoundingClientRect(), parts[i].getBoundingClientRect()) > 3.5) say(when + "overlap", parts[i - 1], parts[i]);
      }
    }
  };
  check("");
  // What can be done with an entry does not cover what it says, and can be read.
  for (const acts of document.querySelectorAll(".acts")) {
    const box = acts.getBoundingClientRect();
    if (box.left < 0 || box.right > innerWidth) say("a menu is outside of the window", acts);
    for (const b of acts.children) if (b.getClientRects().length > 1 || b.getBoundingClientRect().height > 30) say("an entry of a menu has several lines", b);
    const near = acts.closest("article");
    for (const at of near ? [near, near.previousElementSibling, near.nextElementSibling].filter(x => x).flatMap(x => lines(x)) : [])
      if (overlap(box, at) > 1.5 && ![...lines(acts)].some(x => overlap(x, at) > 1 && Math.abs(x.top - at.top) < 1)) { say("a menu covers text", acts); break; }
  }
  // The name of a changed file is beside its mark.
  for (const s of document.querySelectorAll(".filediff > summary")) {
    const path = s.querySelector(".path");
    if (path && path.getBoundingClientRect().top - s.getBoundingClientRect().top > 16) say("a name is below its mark", s);
  }
  // Menus, one by one, are inside of the window.
  for (const d of document.querySelectorAll("details.spaces, details.download, details.change, details.continue")) {
    d.open = true;
    const menu = d.querySelector(":scope > :not(summary)");
    const box = menu && menu.getBoundingClientRect();
    if (box && (box.left < 0 || box.right > innerWidth + 1)) say(`a menu is from ${Math.round(box.left)} to ${Math.round(box.right)}`, d);
    check("with a menu open, ");
    d.open = false;
  }
  for (const d of document.querySelectorAll("main details:not(.download, .change, .continue)")) d.open = true;
  check("with everything open, ");
  for (const d of document.querySelectorAll("main details")) d.open = false;
  return wrong;
}
