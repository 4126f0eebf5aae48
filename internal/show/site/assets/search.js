// The search over all sessions of the list: each word has to be in one text. The texts are loaded when
// somebody begins to type. They are scripts, because a page opened from a folder may not read files.
"use strict";
(() => {
  const place = document.getElementById("search");
  const found = document.getElementById("found");
  const days = document.getElementById("days");
  if (!place) return;
  const sessions = [];
  let loading = null;

  window.tapeTexts = (session) => sessions.push(session);

  const load = () => {
    loading ??= Promise.all(place.dataset.files.split(" ").filter(Boolean).map((name) => new Promise((done) => {
      const script = document.createElement("script");
      script.src = "search/" + name + ".js";
      script.onload = script.onerror = done;
      document.head.append(script);
    }))).then(() => sessions.sort((a, b) => (a[2] < b[2] ? 1 : -1)));
    return loading;
  };

  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Search these sessions";
  input.setAttribute("aria-label", "Search these sessions");
  place.append(input);

  // around is the part of a text around its first hit, without cutting a word.
  const around = (text, lower, words) => {
    const at = Math.min(...words.map((word) => lower.indexOf(word)).filter((i) => i >= 0));
    let from = Math.max(0, at - 60), to = Math.min(text.length, at + 140);
    if (from > 0) from = text.lastIndexOf(" ", at) > from ? text.indexOf(" ", from) + 1 : from;
    if (to < text.length) to = text.lastIndexOf(" ", to) > at ? text.lastIndexOf(" ", to) : to;
    return [from, to];
  };

  // marked puts an excerpt into an element, with the words marked.
  const marked = (element, text, lower, words) => {
    let [from, to] = around(text, lower, words);
    if (from > 0) element.append("… ");
    while (from < to) {
      let at = to, word = "";
      for (const w of words) {
        const i = lower.indexOf(w, from);
        if (i >= 0 && i < at) [at, word] = [i, w];
      }
      const mark = document.createElement("mark");
      mark.textContent = text.slice(at, at + word.length);
      element.append(text.slice(from, at), ...(word ? [mark] : []));
      from = at + word.length;
    }
    if (to < text.length) element.append(" …");
  };

  const href = (folder, page, id) =>
    "sessions/" + encodeURIComponent(folder) + "/" + (page === 1 ? "index" : page) + ".html" + (id ? "#e" + id : "");

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.replaceChildren();
    found.hidden = words.length === 0;
    days.hidden = words.length > 0;
    if (words.length === 0) return;
    const list = document.createElement("ul");
    list.className = "sessions";
    let count = 0;
    for (const [folder, title, date, texts] of sessions) {
      const has = (text) => words.every((word) => text.includes(word));
      const hits = [];
      for (const [page, id, text] of texts) {
        const lower = text.toLowerCase();
        if (has(lower)) hits.push([page, id, text, lower]);
        if (hits.length === 4) break;
      }
      if (hits.length === 0 && !has(title.toLowerCase())) continue;
      if (++count > 50) break;
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = href(folder, 1);
      link.dir = "auto";
      link.textContent = title;
      const facts = document.createElement("p");
      facts.className = "facts";
      facts.textContent = date;
      item.append(link, facts);
      for (const [page, id, text, lower] of hits) {
        const hit = document.createElement("a");
        hit.className = "hit";
        hit.href = href(folder, page, id);
        hit.dir = "auto";
        marked(hit, text, lower, words);
        item.append(hit);
      }
      list.append(item);
    }
    const head = document.createElement("p");
    head.className = "facts";
    head.setAttribute("role", "status");
    head.textContent = count > 50 ? "The 50 newest sessions with these words" : count === 1 ? "1 session" : count + " sessions";
    found.append(head, list);
  };

  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => load().then(show), 80);
  });
})();
