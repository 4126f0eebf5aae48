// What pages can do beside being read: the rest of a long session as it is scrolled to,
// following, finding, keys, copying. Without script all of it has links.

import "./copy.js";

const MOST = 4; // windows of 100 entries in the page
const $ = (q, from = document) => from.querySelector(q);
const $$ = (q, from = document) => [...from.querySelectorAll(q)];
const main = $("main[data-url]");
const base = document.body.dataset.base;
const said = text => { $("#said").textContent = text; };
const get = async url => {
  const res = await fetch(url);
  if (!res.ok) throw new Error(await res.text());
  return res.text();
};
const parse = html => new DOMParser().parseFromString(html, "text/html").body;

// State: what is open stays open, also when its window was taken out of the page.
const key = "open " + (main ? main.dataset.url : "");
const opened = new Set(JSON.parse(sessionStorage.getItem(key) || "[]"));
const restore = from => $$("details[data-key]", from).forEach(d => { if (opened.has(d.dataset.key)) d.open = true; });
document.addEventListener("toggle", async e => {
  const d = e.target;
  if (!(d instanceof HTMLDetailsElement)) return;
  if (d.dataset.key) {
    if (d.open) opened.add(d.dataset.key); else opened.delete(d.dataset.key);
    sessionStorage.setItem(key, JSON.stringify([...opened].slice(-2000)));
  }
  if (d.open && d.dataset.src && !d.closest(".side")) await fill(d);
}, true);

async function fill(d) {
  const src = d.dataset.src;
  delete d.dataset.src;
  try {
    const whole = $$("details.call", parse(await get(src + "?part")))[+d.dataset.n];
    if (whole) d.replaceChildren(...[$("summary", d), ...[...whole.childNodes].filter(n => n.nodeName !== "SUMMARY")]);
  } catch (err) {
    d.dataset.src = src;
    said(err.message);
  }
}

// "Prompts and answers only" stays while one reads sessions in this tab.
const only = $("#only");
if (only) {
  only.checked = sessionStorage.getItem("only") === "yes";
  only.addEventListener("change", () => {
    sessionStorage.setItem("only", only.checked ? "yes" : "");
    if (current && current.checkVisibility()) current.scrollIntoView({ block: "center" });
    reading();
  });
}

// Long sessions: windows come in at both ends and go at the other.
let loading = false;
const windows = () => $$("#entries > section.window");
const height = () => document.documentElement.scrollHeight;

async function load(link) {
  if (loading) return;
  loading = true;
  try {
    const up = link.classList.contains("previous");
    const part = $("section.window", parse(await get(`${main.dataset.url}/-/window/${link.dataset.from}`)));
    const sect = link.closest("section");
    const keep = sect.querySelector("article");
    const top = keep ? keep.getBoundingClientRect().top : 0;
    restore(part);
    if (up) sect.before(part); else sect.after(part);
    link.remove();
    const other = $(up ? ".next" : ".previous", part);
    if (other) other.remove();
    while (windows().length > MOST) {
      const all = windows();
      (up ? all[all.length - 1] : all[0]).remove();
      relink();
    }
    if (keep && keep.isConnected) window.scrollBy(0, keep.getBoundingClientRect().top - top);
    watch();
  } catch (err) { said(err.message); } finally { loading = false; }
}

// relink gives the first and the last window their links again.
function relink() {
  const all = windows(), first = all[0], last = all[all.length - 1];
  const link = (cls, from, text) => {
    const a = document.createElement("a");
    a.className = "page " + cls; a.dataset.from = from; a.textContent = text; a.href = `${main.dataset.url}/@${from}`;
    return a;
  };
  if (+first.dataset.first > 1 && !$(".previous", first)) first.prepend(link("previous", +first.dataset.first - 100, "Earlier entries"));
  if (+last.dataset.last < +main.dataset.end && !$(".next", last)) last.append(link("next", +last.dataset.last + 1, "Later entries"));
}

const seen = new IntersectionObserver(list => list.forEach(x => { if (x.isIntersecting) load(x.target); }), { rootMargin: "600px" });
const watch = () => { seen.disconnect(); $$("#entries a.page").forEach(a => seen.observe(a)); };

// go shows an entry: in the page, or with its window in place of all others.
async function go(id) {
  let el = $("#e" + id) || $$("article").find(a => +a.dataset.id <= id && +a.dataset.last >= id);
  if (!el) {
    const first = Math.floor((id - 1) / 100) * 100 + 1;
    const part = $("section.window", parse(await get(`${main.dataset.url}/-/window/${first}`)));
    restore(part);
    $("#entries").replaceChildren(part);
    watch();
    el = $("#e" + id) || $$("article").filter(a => +a.dataset.id <= id).pop() || $("article");
  }
  for (let d = el && el.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  select(el && el.closest("article"));
}

// The words of a hit are marked in its entry: in what is seen, or else in what has to be opened for it.
async function markHit(article, words) {
  $$("mark.hit").forEach(m => m.replaceWith(m.textContent));
  words = words.filter(w => w.trim());
  if (!article || !words.length) return;
  const quoted = words.map(w => w.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"));
  const pattern = new RegExp(quoted.sort((a, b) => b.length - a.length).join("|"), "giu");
  const within = el => {
    let n = 0;
    const texts = [], walk = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
    while (walk.nextNode() && texts.length < 5000) if (!walk.currentNode.parentElement.closest(".who, .acts, mark")) texts.push(walk.currentNode);
    for (const text of texts) {
      for (const m of [...text.data.matchAll(pattern)].reverse()) {
        if (!m[0] || ++n > 200) continue;
        const mark = document.createElement("mark"), found = text.splitText(m.index);
        mark.className = "hit";
        found.splitText(m[0].length);
        found.replaceWith(mark);
        mark.append(found);
      }
    }
    return n;
  };
  within(article);
  const shown = () => $$("mark.hit", article).find(m => m.checkVisibility());
  for (const d of $$("details.call", article).filter(d => d.dataset.src).slice(0, 5)) {
    if (shown()) break;
    await fill(d);
    if (within(d)) break;
  }
  const hit = shown() || $("mark.hit", article);
  for (let d = hit?.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  if (hit && hit.getBoundingClientRect().bottom > innerHeight || hit?.getBoundingClientRect().top < 60) hit.scrollIntoView({ block: "center" });
}

// The page of a search says which words, and in which entry. The browser's other tabs may open it.
const MARK = "tape mark";
const ask = e => {
  const a = e.target.closest?.("a[data-mark]");
  if (a) localStorage.setItem(MARK, JSON.stringify([a.pathname, a.dataset.mark.split("\n")]));
};
document.addEventListener("click", ask, true);
document.addEventListener("auxclick", ask, true);
function wanted() {
  const [path, words] = JSON.parse(localStorage.getItem(MARK) || "[]");
  if (path !== location.pathname) return [];
  localStorage.removeItem(MARK);
  return words;
}

let current = null;
function select(a) {
  if (!a) return;
  if (only && only.checked && !a.checkVisibility()) only.checked = false; // it is one of those that are not shown
  if (current) current.classList.remove("current");
  $$(".acts").forEach(x => x.remove());
  current = a;
  a.classList.add("current");
  offer(a);
  a.focus({ preventScroll: true });
  a.scrollIntoView({ block: a.offsetHeight > innerHeight * 0.8 ? "start" : "center" });
  if (main) reading();
}

async function step(match, by) {
  const articles = () => $$("#entries article").filter(a => a.matches(match) && a.checkVisibility());
  const list = articles();
  const from = current && current.isConnected ? current : null;
  const next = from
    ? (by > 0 ? list.find(a => from.compareDocumentPosition(a) & 4) : list.filter(a => from.compareDocumentPosition(a) & 2).pop())
    : list[by > 0 ? 0 : list.length - 1];
  if (next) return select(next);
  const link = $(by > 0 ? "#entries .next" : "#entries .previous");
  if (link) { await load(link); const again = articles(); if (again.some(a => !list.includes(a))) return step(match, by); }
}

// Following: a button says what is new, and shows it; at the end it comes by itself.
function follow() {
  const button = $("button.new");
  const events = new EventSource(`${main.dataset.url}/-/follow?after=${main.dataset.end}`);
  const atEnd = () => +windows().at(-1).dataset.last >= shown;
  let shown = +main.dataset.end, busy = false;
  const add = async () => {
    if (busy) return;
    busy = true;
    while (atEnd() && shown < +main.dataset.end) {
      const last = windows().at(-1), from = +last.dataset.last + 1, first = +last.dataset.first;
      const part = $("section.window", parse(await get(`${main.dataset.url}/-/window/${Math.min(from, first + 99)}?after=${from - 1}`)));
      if (from > first + 99) { // the window is full
        const next = $("section.window", parse(await get(`${main.dataset.url}/-/window/${from}`)));
        const prev = $(".previous", next); if (prev) prev.remove();
        last.after(next);
        shown = +next.dataset.last;
        while (windows().length > MOST && scrollY > windows()[0].offsetHeight) { const h = windows()[0].offsetHeight; windows()[0].remove(); window.scrollBy(0, -h); }
        relink();
      } else {
        for (const a of $$(":scope > article, :scope > details", part)) {
          const old = $("#" + a.id, last);
          restore(part);
          if (old && a.matches("article")) old.replaceWith(a);
          else { if (old) old.remove(); last.append(a); } // the events of a turn stay at its end
        }
        last.dataset.last = part.dataset.last;
        shown = +part.dataset.last;
      }
    }
    busy = false;
    watch();
    later();
  };
  events.onmessage = e => {
    const far = +windows().at(-1).dataset.last < shown;
    main.dataset.end = e.data;
    if (!far) { add().catch(err => said(err.message)); return; }
    button.textContent = "New entries: go to the end";
    button.hidden = false;
  };
  button.addEventListener("click", () => { button.hidden = true; go(+main.dataset.end).then(() => { shown = +main.dataset.end; }); });
}

// The overview and the prompts, which may come after the page, and again when the session has grown.
let took = 0, waiting = 0;
async function outline() {
  const began = Date.now();
  const page = parse(await get(`${main.dataset.url}/-/outline?part&at=${place ? place.dataset.go : 0}`));
  took = Date.now() - began;
  const opened = $$("#overview details[open]").length;
  for (const id of ["overview", "turns"]) {
    const to = $("#" + id);
    if (id === "overview" && opened) continue; // somebody reads it
    to.replaceChildren(...$("#" + id, page).childNodes);
    to.classList.remove("waiting");
  }
  reading();
}
const later = () => { waiting ||= setTimeout(() => { waiting = 0; outline().catch(err => said(err.message)); }, 2000 + 20 * took); };

// The list has some of the prompts of a long session. When somebody reads beyond them, it gets those around that place.
let listed = 0;
const covers = id => { const list = $("#turns .turns"); return !list || id >= +list.dataset.first && !(id >= +list.dataset.next); };
async function listAround(id) {
  if (listed === id) return;
  listed = id;
  const page = parse(await get(`${main.dataset.url}/-/outline?part&at=${id}`));
  $("#turns").replaceChildren(...$("#turns", page).childNodes);
  if (covers(id)) reading();
}

// The list of prompts shows which one is read.
let place = null;
function reading() {
  const list = $$("#entries article").filter(a => a.offsetParent);
  let low = 0, high = list.length - 1;
  while (low < high) { // the last one that begins above the middle
    const mid = (low + high + 1) >> 1;
    if (list[mid].getBoundingClientRect().top < innerHeight * 0.4) low = mid; else high = mid - 1;
  }
  let id = list.length ? +list[low].dataset.id : 0;
  const seenAt = current && current.isConnected && current.getBoundingClientRect();
  if (seenAt && seenAt.bottom > 0 && seenAt.top < innerHeight) id = +current.dataset.id; // the selected one, while it is seen
  const here = covers(id);
  if (!here) listAround(id).catch(err => said(err.message));
  const links = here ? $$("#turns a[data-go]").filter(a => +a.dataset.go <= id) : [];
  const now = links.at(-1) || null;
  if (now === place) return;
  if (place) place.removeAttribute("aria-current");
  place = now;
  if (!now) return;
  now.setAttribute("aria-current", "true");
  const box = now.closest(".side"), at = now.getBoundingClientRect(), around = box.getBoundingClientRect();
  if (getComputedStyle(box).position === "sticky" && (at.top < around.top || at.bottom > around.bottom)) box.scrollTop += at.top - around.top - around.height / 3;
}

// Finding, over all of the session.
function finder(form) {
  const box = $("input[type=search]", form), out = $(".found", form);
  let ids = [], at = -1, asked = "";
  form.addEventListener("submit", async e => {
    e.preventDefault();
    if (asked !== box.value) {
      asked = box.value;
      try { ids = JSON.parse(await get(`${main.dataset.url}/-/find?q=${encodeURIComponent(asked)}`)); } catch (err) { out.textContent = err.message; return; }
      at = -1;
    }
    if (!ids.length) { out.textContent = "not found"; return; }
    at = (at + 1) % ids.length;
    out.textContent = `${at + 1} of ${ids.length}`;
    await go(ids[at]);
    await markHit(current, [asked]);
    box.focus({ preventScroll: true });
  });
}

const quote = s => "'" + s.replaceAll("'", "'\\''") + "'";
async function copy(what, article) {
  const id = article.dataset.id;
  let text = `${location.origin}${main ? main.dataset.url : ""}/@${id}`;
  if (what === "markdown") text = await get(`${main.dataset.url}/-/export/markdown?id=${id}`);
  if (what === "command") text = "follow" in main.dataset ? `tape show @${id} --tape ${quote(main.dataset.tape)}` : `tape show ${quote(main.dataset.tape + "@" + id)}`;
  await navigator.clipboard.writeText(text);
  said("copied");
}

// What can be done with an entry is offered at the one under the pointer, and at the selected one.
function offer(article, only) {
  if (!article || !main || $(":scope > .who > .acts", article)) return;
  if (only) $$(".acts").filter(a => !a.closest("article.current")).forEach(a => a.remove());
  const acts = $("#acts").content.firstElementChild.cloneNode(true);
  $("[data-raw]", acts).href = `${main.dataset.url}/-/raw/${article.dataset.id}`;
  $(":scope > .who", article).append(acts);
}
document.addEventListener("pointerover", e => {
  const a = e.target.closest?.("article.entry");
  if (a && getComputedStyle($(":scope > .who", a)).position === "static") offer(a, true);
});

document.addEventListener("click", async e => {
  const b = e.target.closest("[data-copy],a.more,a[data-go],a.ref,.help");
  if (!b) return;
  if (b.matches(".help")) return $("#keys").showModal();
  if (e.ctrlKey || e.metaKey || e.shiftKey) return;
  try {
    if (b.dataset.copy) return await copy(b.dataset.copy, b.closest("article"));
    const to = b.dataset.go || b.matches(".ref") && b.closest("article").dataset.id;
    if (to && main) {
      e.preventDefault();
      history.pushState(null, "", b.getAttribute("href"));
      return await go(+to);
    }
    if (b.matches("a.more") && main) {
      e.preventDefault();
      const whole = $("article", parse(await get(b.getAttribute("href") + "?part"))), old = b.closest("article");
      $$("details[data-key]", old).filter(d => d.open).forEach(d => opened.add(d.dataset.key));
      restore(whole);
      old.replaceWith(whole);
      select(whole);
    }
  } catch (err) { said(err.message); }
});

// Search as you type.
const q = $("#q");
if (q) {
  let timer;
  q.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const url = `${base}/search?${new URLSearchParams(new FormData($("#searchform")))}`, text = q.value;
      try {
        const page = parse(await get(url));
        if (q.value !== text) return;
        $("#results").replaceWith($("#results", page));
        history.replaceState(null, "", url);
      } catch (err) { said(err.message); }
    }, 150);
  });
}

const keys = {
  j: () => step("article", 1), k: () => step("article", -1),
  n: () => step(".user", 1), p: () => step(".user", -1),
  "]": () => phase(1), "[": () => phase(-1),
  o: () => { const all = current ? $$("details", current) : [], open = all.every(d => d.open); all.forEach(d => { d.open = !open; }); },
  c: () => current && copy("link", current),
  f: () => $(".find input[type=search]")?.focus(),
  e: () => { const all = $$("#entries .group"), open = all.every(d => d.open); all.forEach(d => { d.open = !open; }); },
};
function phase(by) {
  const links = $$("#turns a[data-phase]"), at = current ? +current.dataset.id : +(windows()[0]?.dataset.first || 1);
  const next = by > 0 ? links.find(a => +a.dataset.go > at) : links.filter(a => +a.dataset.go < at).pop();
  return next && go(+next.dataset.go);
}
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input,textarea,select,dialog")) return;
  let act = main && keys[e.key];
  if (e.key === "/") act = () => main ? location.assign(base + "/search") : (q || $(".bar input[type=search]")).focus();
  if (e.key === "?") act = () => $("#keys").showModal();
  if (!act) return;
  e.preventDefault();
  Promise.resolve(act()).catch(err => said(err.message));
});

if (main) {
  restore(document);
  watch();
  if ("follow" in main.dataset) follow();
  finder($(".find"));
  const target = +main.dataset.target;
  if (target) go(target).then(() => markHit(current, wanted())).catch(err => said(err.message));
  if ($("#turns[data-src]")) outline().catch(err => said(err.message));
  let frame = 0;
  addEventListener("scroll", () => { frame ||= requestAnimationFrame(() => { frame = 0; reading(); }); }, { passive: true });
  reading();
  addEventListener("popstate", () => location.reload());
}
