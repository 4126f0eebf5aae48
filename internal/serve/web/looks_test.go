//go:build extra

package web_test

import (
	"context"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// looks returns the screens and colour schemes in which pages are tested.
func looks() map[string][]chromedp.Action {
	scheme := func(name string) chromedp.Action {
		return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
	}
	return map[string][]chromedp.Action{
		"light": {chromedp.EmulateViewport(1280, 900), scheme("light")},
		"dark":  {chromedp.EmulateViewport(1280, 900), scheme("dark")},
		"phone": {chromedp.EmulateViewport(390, 844), scheme("light")},
		"night": {chromedp.EmulateViewport(390, 844), scheme("dark")},
	}
}

// axe fails with what axe-core finds serious or worse.
func (s *site) axe(ctx context.Context, script, where string) {
	s.Helper()
	var found []string
	s.run(ctx, chromedp.Evaluate(script, nil), chromedp.Evaluate(`axe.run().then(r => r.violations
		.filter(v => ["serious", "critical"].includes(v.impact))
		.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary).join("; ")))`, &found,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	for _, f := range found {
		s.Errorf("%s: %s", where, f)
	}
}
