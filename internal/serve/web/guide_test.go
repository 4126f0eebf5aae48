package web_test

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

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

func (s *site) click(ctx context.Context, what, then string) {
	s.Helper()
	s.run(ctx, chromedp.Click(what, chromedp.NodeVisible, chromedp.ByQuery))
	s.until(ctx, then)
}

func (s *site) guide(ctx context.Context) {
	s.until(ctx, `location.pathname === "/" && !location.search && document.querySelector(".sessions td .live")`)
	s.click(ctx, ".spaces summary", `document.querySelector(".spaces").open && document.querySelectorAll(".spaces li a").length === 2`)
	s.run(ctx, chromedp.SendKeys(".bar input[type=search]", "checkout"+kb.Enter))
	s.until(ctx, `document.querySelectorAll(".hits li").length === 2`)
	s.click(ctx, `.facet[href*="kind=system"]`, `document.querySelectorAll(".hits li").length === 1 && document.querySelector(".facet.on").textContent === "system 1"`)
	s.click(ctx, `.facet.on`, `document.querySelectorAll(".hits li").length === 2 && !document.querySelector(".facet.on")`)
	s.click(ctx, `.hits li a[href$="@3"]`, `document.activeElement.id === "e3"`)
	s.click(ctx, ".outline li:last-child a", `document.activeElement.matches(".phase") && location.pathname === "/t/main/002"`)
	s.click(ctx, ".promptbox li:last-child a", `document.activeElement.matches(".user")`)
	fill := func(form, field, text string) {
		s.Helper()
		s.click(ctx, ".write summary", `document.querySelector(".write").open`)
		in := `.write form[action$="/do/` + form + `"] `
		s.run(ctx, chromedp.SetValue(in+`[name=`+field+`]`, text, chromedp.ByQuery), chromedp.Click(in+"button", chromedp.ByQuery))
	}
	fill("rename", "title", "The checkout")
	s.until(ctx, `document.querySelector("h1").textContent === "The checkout"`)
	fill("handoff", "name", "review")
	s.until(ctx, `document.querySelector(".outline li:last-child").textContent.includes("review")`)
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
	s.click(ctx, "main p a", `location.pathname === "/t/main"`)
	s.click(ctx, ".tools a", `document.querySelector("svg.line") && location.pathname.endsWith("/figures")`)
}
