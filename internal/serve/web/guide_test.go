//go:build extra

package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tape/internal/testkit"
	"tape/repo"
)

// TestGuide does what docs/web.md says of lists, facets, comparisons and forms, with the mouse.
func TestGuide(t *testing.T) {
	s := newSite(t, true)
	tape := s.session()
	_, err := tape.Append(t.Context(), nil, repo.System("A checkout is slow."))
	must(t, err)
	s.guide(s.browser())
}

// click clicks on what a selector finds, and waits for a condition in the page.
func (s *site) click(ctx context.Context, what, then string) {
	s.Helper()
	var err error
	// The page may be replaced between finding the node and clicking on it. Then nothing was clicked.
	testkit.Eventually(func() bool {
		err = chromedp.Run(ctx, chromedp.Click(what, chromedp.NodeVisible, chromedp.ByQuery))
		return err == nil || !strings.Contains(err.Error(), "Could not find node")
	})
	if err != nil {
		s.Fatal(err)
	}
	s.until(ctx, then)
}

func (s *site) guide(ctx context.Context) {
	s.until(ctx, `location.pathname === "/" && !location.search && document.querySelector(".sessions .live")`)
	s.click(ctx, ".spaces summary", `document.querySelector(".spaces").open && document.querySelectorAll(".spaces li a").length > 1`)
	s.run(ctx, chromedp.SendKeys(".bar input[type=search]", "checkout"+kb.Enter))
	s.until(ctx, `document.querySelectorAll(".hits .one").length === 2`)
	s.click(ctx, `.facet[href*="kind=system"]`, `document.querySelectorAll(".hits .one").length === 1 && document.querySelector(".facet.on").textContent === "system prompts 1"`)
	s.click(ctx, `.facet.on`, `document.querySelectorAll(".hits .one").length === 2 && !document.querySelector(".facet.on")`)
	s.click(ctx, `.hits .one a[href$="@3"]`, `document.activeElement.id === "e3"`)
	s.click(ctx, "#turns li:nth-last-child(2) a", `document.activeElement.matches(".phase") && location.pathname === "/t/main/002"`)
	s.click(ctx, "#turns li:last-child a", `document.activeElement.matches(".user")`)
	s.until(ctx, `document.querySelector("#turns li:last-child a").matches("[aria-current]")`) // the list of turns follows the reading
	fill := func(form, field, text string) {
		s.Helper()
		s.click(ctx, ".change summary", `document.querySelector(".change").open`)
		// In one step: the page follows the session, and a node that was found may be gone in the next one.
		s.run(ctx, chromedp.Evaluate(fmt.Sprintf("window.former = true; { const f = document.querySelector(`.change form[action$=\"/do/%s\"]`); f.elements[%q].value = %q; f.querySelector(\"button\").click() }", form, field, text), nil))
		s.until(ctx, `!window.former`) // the page follows the session, so it may show the change before the next one is there
	}
	fill("rename", "title", "The checkout")
	s.until(ctx, `document.querySelector("h1").textContent === "The checkout"`)
	fill("handoff", "name", "review")
	s.until(ctx, `document.querySelector("#turns").textContent.includes("review")`)
	fill("fork", "name", "idea")
	s.until(ctx, `location.pathname === "/t/main%2Fidea"`)
	s.run(ctx, chromedp.Navigate(s.url+"/t/main/-/forks"))
	s.until(ctx, `document.querySelector(".graph").textContent.includes("main/idea")`)
	s.run(ctx, chromedp.SetValue(".filters [name=a]", "@3", chromedp.ByQuery), chromedp.SetValue(".filters [name=b]", "main/idea", chromedp.ByQuery))
	s.click(ctx, ".filters button", `location.pathname === "/diff" && document.querySelectorAll(".sides .added").length > 3`)
	s.run(ctx, chromedp.Navigate(s.url+"/t/main%2Fidea"))
	fill("merge", "summary", "nothing new")
	s.until(ctx, `location.pathname === "/t/main" && document.querySelector("h1").textContent === "The checkout"`)
	s.run(ctx, chromedp.Navigate(s.url+"/t/main/-/forks"))
	s.until(ctx, `document.querySelector("main").textContent.includes("What became of it")`)
	s.click(ctx, "main .crumb a", `location.pathname === "/t/main"`)
	s.click(ctx, ".tools a[href$=stats]", `document.querySelector("svg.strip") && location.pathname.endsWith("/stats")`)
	s.click(ctx, "nav.main a[href='/stats']", `document.querySelector("svg.columns") && document.querySelectorAll("svg.bar").length > 3`)
	s.click(ctx, "nav.main a[href='/digest']", `document.querySelector(".digest .label")`)
	s.click(ctx, "nav.main a[href='/']", `document.querySelector("svg.calendar a")`)
	s.run(ctx, chromedp.Evaluate(`document.querySelector("svg.calendar a").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`, nil))
	s.until(ctx, `location.search.startsWith("?day=") && document.querySelector(".sessions li")`)
}
