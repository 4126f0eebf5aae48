//go:build extra

package web_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tape/internal/serve/web"
	"tape/internal/testkit"
	"tape/merge"
	"tape/repo"
)

// browser starts the Chromium of $TAPE_TEST_CHROMIUM; `make test-web` sets it.
func (s *site) browser() context.Context {
	s.Helper()
	program := os.Getenv("TAPE_TEST_CHROMIUM")
	if program == "" {
		s.Skip("make test-web runs this")
	}
	dir, err := os.MkdirTemp("", "chromium")
	must(s.T, err)
	s.Cleanup(func() { os.RemoveAll(dir) }) // the browser may still write there, so an error is ignored
	ctx, cancel := chromedp.NewExecAllocator(s.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.UserDataDir(dir), chromedp.WindowSize(1280, 900))...)
	s.Cleanup(cancel)
	ctx, cancel2 := chromedp.NewContext(ctx)
	s.Cleanup(cancel2)
	ctx, cancel3 := context.WithTimeout(ctx, 5*time.Minute)
	s.Cleanup(cancel3)
	s.run(ctx, chromedp.Navigate(s.url+s.view.Link()))
	s.until(ctx, `location.pathname === "/" && !location.search && document.readyState === "complete"`) // where the page of the link leads
	return ctx
}

func (s *site) run(ctx context.Context, actions ...chromedp.Action) {
	s.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		s.Fatal(err)
	}
}

// until waits for a condition in the page, or in the page that replaces it.
func (s *site) until(ctx context.Context, condition string) {
	s.Helper()
	var err error
	if testkit.Eventually(func() (ok bool) {
		err = chromedp.Run(ctx, chromedp.Evaluate("!!("+condition+")", &ok))
		return ok
	}) {
		return
	}
	var now string
	_ = chromedp.Run(ctx, chromedp.Evaluate(`location.href + " found:" + document.querySelector(".found")?.textContent +
		" at:" + document.querySelector("article.current")?.id + " said:" + document.querySelector("#said")?.textContent`, &now))
	s.Fatalf("%s did not become true: %v; the page is %s", condition, err, now)
}

func (s *site) keys(ctx context.Context, keys string) {
	s.Helper()
	s.run(ctx, chromedp.KeyEvent(keys))
}

// picture saves a screenshot to the folder $TAPE_TEST_PICTURES, if that is set.
func (s *site) picture(ctx context.Context, name string) {
	s.Helper()
	dir := os.Getenv("TAPE_TEST_PICTURES")
	if dir == "" {
		return
	}
	var png []byte
	s.run(ctx, chromedp.CaptureScreenshot(&png))
	must(s.T, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// press presses a key that the page handles; unlike keys, it types nothing.
func (s *site) press(ctx context.Context, key string) {
	s.Helper()
	s.run(ctx, input.DispatchKeyEvent(input.KeyRawDown).WithKey(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key))
}

// TestKeyboard reads a session and searches with the keyboard alone.
func TestKeyboard(t *testing.T) {
	s := newSite(t, false)
	s.session()
	ctx := s.browser()
	s.until(ctx, `document.querySelector(".sessions .live")`)
	s.run(ctx, chromedp.Navigate(s.url+"/t/main"))
	s.until(ctx, `document.querySelectorAll("#turns a:not([data-phase])").length === 3`)
	s.press(ctx, "n")
	s.until(ctx, `document.activeElement.id === "e3"`)
	s.press(ctx, "n")
	s.until(ctx, `document.activeElement.id === "e8"`)
	s.press(ctx, "p")
	s.until(ctx, `document.activeElement.id === "e3"`)
	for range 3 {
		s.press(ctx, "j")
	}
	s.until(ctx, `document.activeElement.id === "e6"`)
	s.press(ctx, "e") // events, which are one line for each turn
	s.until(ctx, `document.querySelector(".group[open] #e1").checkVisibility()`)
	s.press(ctx, "e")
	s.until(ctx, `!document.querySelector(".group[open]")`)
	s.press(ctx, "o") // the long result comes now
	s.until(ctx, `document.querySelector("#e6 .call[open]").textContent.includes("a line of the log\na line")`)
	s.press(ctx, "]")
	s.until(ctx, `document.activeElement.id === "e9"`)
	s.press(ctx, "[")
	s.until(ctx, `document.activeElement.id === "e1"`)
	s.press(ctx, "f")
	s.until(ctx, `document.activeElement.closest(".find")`)
	s.keys(ctx, "retry.go"+kb.Enter)
	s.until(ctx, `document.querySelector(".found").textContent.startsWith("1 of") && document.querySelector("article.current").id === "e3"`)
	s.run(ctx, chromedp.Reload())
	s.until(ctx, `document.querySelector("#e6 .call").open`) // what was open is open
	s.press(ctx, "?")
	s.until(ctx, `document.querySelector("dialog").open`)
	s.keys(ctx, kb.Escape)
	s.until(ctx, `!document.querySelector("dialog").open && !document.activeElement.closest("dialog")`)
	s.press(ctx, "/")
	s.until(ctx, `location.pathname === "/search" && document.activeElement.id === "q"`)
	s.keys(ctx, "checkout"+kb.Enter)
	s.until(ctx, `location.pathname === "/search" && document.querySelector(".hits mark")`)
	s.run(ctx, chromedp.Click("#q"))
	s.keys(ctx, ` "nothinglikethis at all"`)
	s.until(ctx, `location.search.includes("nothinglikethis") && !document.querySelector(".hits li")`)
	s.run(ctx, chromedp.Navigate(s.url+"/t/main/@7"), chromedp.WaitVisible("#e6 .call[open]"))
}

// TestFollow: two browsers that follow one session show new entries once, and do not scroll.
func TestFollow(t *testing.T) {
	s := newSite(t, false)
	tape := s.session()
	one, two := s.browser(), s.browser()
	for _, ctx := range []context.Context{one, two} {
		s.run(ctx, chromedp.Navigate(s.url+"/t/main"))
		s.until(ctx, `document.querySelectorAll("article").length > 8`)
	}
	s.run(one, chromedp.Evaluate(`window.scrollTo(0, 120)`, nil))
	for i := range 130 { // beyond the end of a window
		_, err := tape.Append(t.Context(), nil, repo.Message("assistant", fmt.Sprintf("new number %d", i)))
		must(t, err)
	}
	for _, ctx := range []context.Context{one, two} {
		s.until(ctx, `document.querySelector("#e142") && document.querySelector("#e142").textContent.includes("new number 129")`)
		s.until(ctx, `[...document.querySelectorAll("article")].map(a => a.id).every((id, i, all) => all.indexOf(id) === i)`)
	}
	s.until(one, `Math.abs(scrollY - 120) < 2`)
	s.until(one, `!document.querySelector("#e142 ~ .next")`)
}

// TestManyEntries: of 100,000 entries, the page has at most 400 at a time, wherever it is scrolled to.
func TestManyEntries(t *testing.T) {
	s := newSite(t, false)
	s.long(100_000)
	ctx := s.browser()
	began := time.Now()
	s.run(ctx, chromedp.Navigate(s.url+"/t/long"), chromedp.WaitVisible("#e2"))
	t.Logf("the first entries of 100,000 are seen after %s", time.Since(began).Round(time.Millisecond))
	for range 12 {
		s.run(ctx, chromedp.Evaluate(`window.scrollTo(0, document.documentElement.scrollHeight)`, nil), chromedp.Sleep(150*time.Millisecond))
		s.until(ctx, `document.querySelectorAll("article").length <= 400`)
	}
	s.until(ctx, `!document.querySelector("#e1") && document.querySelectorAll("#entries > section").length === 4`)
	for range 12 {
		s.run(ctx, chromedp.Evaluate(`window.scrollTo(0, 0)`, nil), chromedp.Sleep(150*time.Millisecond))
		s.until(ctx, `document.querySelectorAll("article").length <= 400`)
	}
	s.until(ctx, `document.querySelector("#e1")`)
	s.run(ctx, chromedp.Evaluate(`document.querySelector(".find input[type=search]").focus()`, nil))
	s.keys(ctx, "needle77777"+kb.Enter)
	s.until(ctx, `document.querySelector("article.current")?.textContent.includes("needle77777")`)
	var nodes int
	s.run(ctx, chromedp.Evaluate(`document.querySelectorAll("*").length`, &nodes))
	t.Logf("%d elements in the page", nodes)
}

// TestHostileInBrowser opens everything that a hostile session has. Nothing in it runs, or loads anything.
func TestHostileInBrowser(t *testing.T) {
	s := newSite(t, false)
	s.hostile()
	ctx := s.browser()
	chromedp.ListenTarget(ctx, func(e any) {
		switch e := e.(type) {
		case *page.EventJavascriptDialogOpening:
			t.Errorf("the page says %q", e.Message)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, s.url) {
				t.Errorf("the page asks for %s", e.Request.URL)
			}
		}
	})
	s.run(ctx, network.Enable())
	for _, path := range []string{"/t/main", "/t/main/@110", "/", "/search?q=alert", "/t/main/-/stats", "/stats", "/digest"} {
		s.run(ctx, chromedp.Navigate(s.url+path), chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => { d.open = true; })`, nil), chromedp.Sleep(300*time.Millisecond))
		s.until(ctx, `document.scripts.length === 1 && !document.querySelector("style, iframe, object, embed, svg:not([class]), [onclick], [onerror], [onload]")`)
	}
}

// titles returns titles that could break layouts: a very long word, many words, a path, emoji, right to left, Chinese.
func titles() map[string]string {
	return map[string]string{"word": strings.Repeat("x", 10_000), "words": strings.Repeat("and then ", 1000), "path": "/home" + strings.Repeat("/folder", 60) + "/file.go",
		"emoji": strings.Repeat("🧑\u200d🚀🔥", 60), "hebrew": "אנא תקן את הבדיקה שנכשלת ב-checkout.go ואל תשנה את הקוד", "chinese": strings.Repeat("请修复上传重试的问题", 20)}
}

// table has more columns than fit on a phone.
const table = "| Scenario | Checkpoint | Expected |\n|---|---|---|\n| Scenarios without an end | all three | `[\"file1.go\", \"file2.go\", \"file3.go\"]` with the whole transcript |"

// TestTitlesOnPhone: no title makes a page wider than a phone, bars stay low, and words in tables stay whole.
func TestTitlesOnPhone(t *testing.T) {
	s := newSite(t, false)
	for name, title := range titles() {
		tape, err := s.store.CreateTape(t.Context(), name)
		must(t, err)
		_, err = tape.Append(t.Context(), nil, repo.Message("user", title), repo.Message("assistant", title), repo.Message("user", "then "+title), repo.Message("assistant", title+"\n\n"+table),
			repo.Event("run", []byte(`{"model":"claude-opus-4-5-20251101","usage":{"input_tokens":1000,"output_tokens":234}}`)))
		must(t, err)
	}
	ctx := s.browser()
	s.run(ctx, looks()["phone"]...)
	paths := []string{"/", "/digest", "/stats", "/search?q=then", "/diff?a=word&b=path"}
	for name := range titles() {
		paths = append(paths, "/t/"+name, "/t/"+name+"/-/stats")
	}
	for _, path := range paths {
		s.run(ctx, chromedp.Navigate(s.url+path))
		s.until(ctx, `document.readyState === "complete"`)
		var wrong string
		s.run(ctx, chromedp.Evaluate(`(() => {
			document.querySelectorAll(".download").forEach(d => { d.open = true; });
			const wide = [...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("table, pre, .path, .unseen, svg, summary"));
			const tall = [...document.querySelectorAll("svg.bar")].filter(e => e.getBoundingClientRect().height > 20);
			const thin = [...document.querySelectorAll(".bars td:first-child, .text td")].filter(e => e.clientWidth < 40 && e.textContent.trim().length > 8);
			const middle = q => { const r = document.querySelector(q).getBoundingClientRect(); return (r.top + r.bottom) / 2; };
			if (Math.abs(middle(".home") - middle(".bar .out")) > 12) tall.push(document.querySelector(".bar .out"));
			const over = document.documentElement.scrollWidth > innerWidth + 1 ? "the page is too wide; " : "";
			return over + [...wide.slice(0, 3), ...tall.slice(0, 3), ...thin.slice(0, 3)].map(e => e.getBoundingClientRect().right + " " + e.outerHTML.slice(0, 200)).join("; ");
		})()`, &wrong))
		if wrong != "" {
			t.Errorf("%s has a bad layout: %s", path, wrong)
		}
	}
}

// TestAccessible runs axe-core, whose file $TAPE_TEST_AXE names, on the main pages in light, dark
// and at a phone's width.
func TestAccessible(t *testing.T) {
	s := newSite(t, true)
	tape := s.session()
	merged, err := tape.Fork(t.Context(), "merged")
	must(t, err)
	_, err = merged.Append(t.Context(), nil, repo.Message("assistant", "It is known."))
	must(t, err)
	_, err = merge.Back(t.Context(), merged)
	must(t, err)
	fork, err := tape.Fork(t.Context(), "try-wal")
	must(t, err)
	_, err = fork.Append(t.Context(), nil, repo.Message("assistant", "The fork says red."))
	must(t, err)
	_, err = tape.Append(t.Context(), nil, repo.Message("assistant", "The parent says green."))
	must(t, err)
	other, err := s.store.CreateTape(t.Context(), "other")
	must(t, err)
	_, err = other.Append(t.Context(), nil, repo.Message("user", "Which colour?"), repo.Message("assistant", "| a | b |\n|---|---|\n| red | `green` |"))
	must(t, err)
	s.work()
	s = newSiteOf(t, web.Options{Store: s.store, All: true, Write: true, Project: s.shopProject()})
	ctx := s.browser()
	axe := ""
	if file := os.Getenv("TAPE_TEST_AXE"); file != "" {
		text, err := os.ReadFile(file)
		must(t, err)
		axe = string(text)
	}
	pages := map[string]string{"sessions": "/", "search": "/search?q=checkout", "session": "/t/main", "stats of a session": "/t/main/-/stats", "stats": "/stats", "digest": "/digest",
		"forks": "/t/main/-/forks", "diff": "/diff?tape=main&a=main&b=main%2Ftry-wal", "two sessions": "/diff?tape=main&a=main&b=other", "outline": "/t/main/-/outline", "entry": "/t/main/-/entry/6", "work": "/t/work/@5", "branches": "/review", "files": "/files", "review": "/review?range=pieces"}
	for look, actions := range looks() {
		s.run(ctx, actions...)
		for name, path := range pages {
			s.run(ctx, chromedp.Navigate(s.url+path), chromedp.Sleep(200*time.Millisecond))
			s.picture(ctx, name+"-"+look)
			var wide bool
			s.run(ctx, chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth + 1`, &wide))
			if wide {
				t.Errorf("%s, %s: the page is wider than the screen", name, look)
			}
			s.run(ctx, chromedp.Evaluate(`document.querySelectorAll("main details:not(.download, .change, .continue)").forEach(d => { d.open = true; })`, nil))
			if axe != "" {
				s.axe(ctx, axe, name+", "+look)
			}
		}
	}
}

// TestSessionInBrowser: a browser gets in from a file with a link, which --open makes, and loses the session when it
// logs out.
func TestSessionInBrowser(t *testing.T) {
	s := newSite(t, false)
	s.session()
	ctx := s.browser()
	page := filepath.Join(t.TempDir(), "open.html")
	must(t, os.WriteFile(page, []byte(`<!DOCTYPE html><meta http-equiv="refresh" content="0; url=`+s.url+s.view.Link()+`">`), 0o600))
	s.run(ctx, network.ClearBrowserCookies(), chromedp.Navigate(s.url+"/"))
	s.until(ctx, `document.querySelector("h1").textContent === "No session"`)
	s.run(ctx, chromedp.Navigate("file://"+page))
	s.until(ctx, `location.pathname === "/" && document.querySelector(".sessions")`)
	s.click(ctx, ".out button", `document.querySelector("h1").textContent === "Logged out"`)
	s.run(ctx, chromedp.Navigate(s.url+"/t/main"))
	s.until(ctx, `document.querySelector("h1").textContent === "No session"`)
}
