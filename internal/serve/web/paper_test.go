//go:build extra

package web_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// clipboard returns what the page has copied.
func (s *site) clipboard(ctx context.Context) (text string) {
	s.Helper()
	s.run(ctx, chromedp.Evaluate("navigator.clipboard.readText()", &text,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return text
}

// TestCopy copies an entry by its buttons and by the key.
func TestCopy(t *testing.T) {
	s := newSite(t, false)
	s.session()
	ctx := s.browser()
	s.run(ctx, emulation.SetFocusEmulationEnabled(true),
		browser.GrantPermissions([]browser.PermissionType{browser.PermissionTypeClipboardReadWrite, browser.PermissionTypeClipboardSanitizedWrite}),
		chromedp.Navigate(s.url+"/t/main/@3"))
	s.until(ctx, `document.activeElement.id === "e3"`)
	for what, want := range map[string]string{
		"link":     s.url + "/t/main/@3",
		"command":  "tape show @3 --tape 'main'",
		"markdown": "Why does **checkout** fail? Look at `retry.go`",
	} {
		s.run(ctx, chromedp.Evaluate(`document.querySelector("#said").textContent = ""`, nil), chromedp.Click(`#e3 [data-copy=`+what+`]`, chromedp.ByQuery))
		s.until(ctx, `document.querySelector("#said").textContent === "copied"`)
		if got := s.clipboard(ctx); got != want && (what != "markdown" || !strings.Contains(got, want)) {
			t.Errorf("%s: the clipboard has %q, want %q", what, got, want)
		}
	}
	s.press(ctx, "n")
	s.until(ctx, `document.activeElement.id === "e8"`)
	s.run(ctx, chromedp.Evaluate(`document.querySelector("#said").textContent = ""`, nil))
	s.press(ctx, "c")
	s.until(ctx, `document.querySelector("#said").textContent === "copied"`)
	if got := s.clipboard(ctx); got != s.url+"/t/main/@8" {
		t.Errorf("after the key, the clipboard has %q, want the link to entry 8", got)
	}
	s.run(ctx, chromedp.Navigate(s.clipboard(ctx)))
	s.until(ctx, `document.activeElement.id === "e8"`)
}

// TestPrint: on paper, folded texts are open, and there is nothing to click.
func TestPrint(t *testing.T) {
	s := newSite(t, true)
	s.session()
	ctx := s.browser()
	s.run(ctx, chromedp.Navigate(s.url+"/t/main"))
	s.until(ctx, `document.querySelectorAll("#turns a:not([data-phase])").length === 3 && !document.querySelector("details.call[open]")`)
	const thought = `[...document.querySelectorAll("#e4 .text")].every(x => x.checkVisibility({ contentVisibilityAuto: true }))`
	s.until(ctx, "!"+thought)
	s.run(ctx, emulation.SetEmulatedMedia().WithMedia("print"))
	s.until(ctx, thought)
	s.until(ctx, `document.querySelector("#e6 ins")?.getBoundingClientRect().height > 5`) // an edit
	s.until(ctx, `[".bar", ".side", ".acts", ".tools", ".find", ".change", ".new", "#said"].every(q => [...document.querySelectorAll(q)].every(x => !x.checkVisibility()))`)
	var pdf []byte
	s.run(ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = page.PrintToPDF().Do(ctx)
		return err
	}))
	if !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Errorf("the print begins with %.20q, want a PDF", pdf)
	}
	if dir := os.Getenv("TAPE_TEST_PICTURES"); dir != "" {
		must(t, os.WriteFile(filepath.Join(dir, "session.pdf"), pdf, 0o644))
	}
}

// TestReading: with the switch, only prompts and answers are seen; the words of a hit are marked in its entry, also in
// what has to be opened; code and the command that resumes the session can be copied.
func TestReading(t *testing.T) {
	s := newSite(t, false)
	s.session()
	s.work()
	ctx := s.browser()
	s.run(ctx, emulation.SetFocusEmulationEnabled(true),
		browser.GrantPermissions([]browser.PermissionType{browser.PermissionTypeClipboardReadWrite, browser.PermissionTypeClipboardSanitizedWrite}),
		chromedp.Navigate(s.url+"/t/work"))
	seen := func(q string, want bool) {
		t.Helper()
		s.until(ctx, fmt.Sprintf("[...document.querySelectorAll(`#entries %s`)].some(e => e.checkVisibility()) === %t", q, want))
	}
	seen(".call", true)
	s.click(ctx, "#only", `document.querySelector("#only").checked`)
	for _, q := range []string{".call", ".group", ".calls", ".turn"} {
		seen(q, false)
	}
	seen(".user", true)
	seen(".assistant", true)
	s.run(ctx, chromedp.Navigate(s.url+"/t/main"))
	s.until(ctx, `document.querySelector("#only").checked`) // it stays
	seen(".call", false)
	s.run(ctx, chromedp.Navigate(s.url+"/t/main/@6")) // a call, by its link
	s.until(ctx, `document.querySelector("#e6").checkVisibility() && !document.querySelector("#only").checked`)

	s.run(ctx, chromedp.Navigate(s.url+"/search?q=backoff+provider"))
	s.click(ctx, `.hits .one a[href$="@5"]`, `document.activeElement.id === "e5"`)
	s.until(ctx, `[...document.querySelectorAll("#e5 mark.hit")].map(m => m.textContent.toLowerCase()).sort().join() === "backoff,provider" && !document.querySelector("#e4 mark, #e3 mark")`)
	s.run(ctx, chromedp.Evaluate(`localStorage.setItem("tape mark", JSON.stringify(["/t/main/@6", ["a line of the log"]]))`, nil),
		chromedp.Navigate(s.url+"/t/main/@6")) // in a result that is loaded when it is opened
	s.until(ctx, `document.querySelector("#e6 .call[open] mark.hit")?.checkVisibility()`)

	copied := func(click, want string) {
		t.Helper()
		s.click(ctx, click, `document.querySelector("`+click+`").textContent === "copied"`)
		if got := s.clipboard(ctx); got != want {
			t.Errorf("after a click on %s, the clipboard has %q, want %q", click, got, want)
		}
	}
	s.run(ctx, chromedp.Navigate(s.url+"/t/main"), chromedp.Evaluate(`document.querySelector("#e5 pre.code").focus()`, nil))
	copied("#e5 button.copy", "func main() { return }\n")
	s.run(ctx, chromedp.Navigate(s.url+"/t/work"))
	copied(".tools [data-copies]", "tape resume work --workspace "+s.store.Dir())
}
