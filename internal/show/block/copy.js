// Copying: a button at the block of code under the pointer or with the focus, and at what has data-copies.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const put = async (text, button) => {
    const was = button.dataset.was ??= button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      button.textContent = "not allowed here";
    }
    setTimeout(() => { button.textContent = was; }, 1500);
  };
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  let of = null;
  const offer = pre => {
    if (of === pre && button.isConnected) return;
    of = pre;
    pre.after(button); // the next thing for the Tab key
    button.style.top = `${pre.offsetTop - 11}px`;
    button.style.left = `${pre.offsetLeft + pre.offsetWidth - button.offsetWidth - 10}px`;
  };
  const near = e => e.target.closest?.("pre:not(.diff)");
  document.addEventListener("pointerover", e => {
    const pre = near(e);
    if (pre) offer(pre);
    else if (e.target !== button && document.activeElement !== button && document.activeElement !== of) button.remove();
  });
  document.addEventListener("focusin", e => {
    const pre = near(e);
    if (pre) offer(pre);
    else if (e.target !== button) button.remove();
  });
  document.addEventListener("click", e => {
    const b = e.target.closest?.("[data-copies]");
    if (b) return put(b.dataset.copies, b);
    if (e.target !== button) return;
    const text = of.cloneNode(true);
    text.querySelectorAll(".ps, .no").forEach(x => x.remove());
    put(text.textContent, button);
  });
})();
