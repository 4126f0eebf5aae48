package blame

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/touched"
	"tape/internal/sessions/trace"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/prices"
	"tape/repo"
)

// Range is what a review is about.
type Range struct {
	Name       string // as a person would write it: main..HEAD
	Base, Head string // see projectgit's Range
	Project    projectgit.Repo
	Prices     prices.List
	Markdown   bool
	Mask       func(string) string // replaces the secrets in a text, for Markdown
}

// Review shows which sessions and requests led to the commits of a range.
func Review(ctx context.Context, s *stdio.Streams, f *trace.Finder, r Range) error {
	patches, err := r.Project.Range(ctx, r.Base, r.Head)
	if err != nil {
		return err
	}
	root, err := touched.Find(ctx, filepath.FromSlash(r.Project.Top))
	if err != nil {
		return err
	}
	v := &review{Streams: s, Range: r, finder: f, requests: map[string]*request{}, agents: map[string]about.Tape{}}
	if v.credits, err = f.Review(ctx, r.Project, root, patches); err != nil {
		return err
	}
	if err := v.gather(ctx); err != nil {
		return err
	}
	switch {
	case s.JSON:
		return s.Emit(v.object())
	case r.Markdown:
		return v.markdown()
	}
	if s.Screen().Out {
		all, err := catalog.All(ctx, f.Store)
		if err != nil {
			return err
		}
		v.names = catalog.ShortNames(catalog.Names(all))
	}
	return v.terminal()
}

// review is a range of commits with what led to them.
type review struct {
	*stdio.Streams
	Range
	finder   *trace.Finder
	names    map[string]string // short names of tapes, for a screen
	credits  []trace.Credit
	requests map[string]*request // by tape and first entry
	order    []string            // keys of requests, as they come
	agents   map[string]about.Tape
	open     []*request // asked in the sessions meanwhile, with nothing of it in the commits
	sum      report.Row
}

// request is a whole turn with what was done in it.
type request struct {
	trace.Request
	*outline.Outline
}

func key(tape string, first int64) string { return fmt.Sprintf("%s\x00%d", tape, first) }

// gather reads the requests that led to the commits, and those beside them.
func (v *review) gather(ctx context.Context) error {
	type span struct{ first, last int64 }
	spans := map[string]span{}
	var tapes []string
	for _, c := range v.credits {
		for _, share := range c.Shares {
			sp, known := spans[share.Tape]
			if !known {
				tapes = append(tapes, share.Tape)
				sp = span{share.First, share.First}
			}
			spans[share.Tape] = span{min(sp.first, share.First), max(sp.last, share.Last)}
			if v.requests[key(share.Tape, share.First)] != nil {
				continue
			}
			r, err := v.finder.Request(ctx, share.Turn)
			if err != nil {
				return err
			}
			if _, err := v.read(ctx, r); err != nil {
				return err
			}
		}
	}
	v.sum.Tokens = map[string]index.Tokens{}
	for _, k := range v.order {
		v.add(v.requests[k].Outline)
	}
	v.sum.Sessions = int64(len(tapes))
	v.sum.Price(v.Prices)
	for _, name := range tapes {
		var err error
		if v.agents[name], err = v.finder.Of(ctx, name); err != nil {
			return err
		}
		beside, err := v.finder.Requests(ctx, name, spans[name].first, spans[name].last)
		if err != nil {
			return err
		}
		for _, r := range beside {
			if v.requests[key(r.Tape, r.First)] != nil {
				continue
			}
			if found, err := v.read(ctx, r); err != nil {
				return err
			} else if len(found.Commits) == 0 {
				v.open = append(v.open, found)
			}
		}
	}
	return nil
}

// read reads what was done in a request.
func (v *review) read(ctx context.Context, r trace.Request) (*request, error) {
	t, err := v.finder.Store.Tape(ctx, r.Tape)
	if err != nil {
		return nil, err
	}
	o, err := outline.Of(ctx, t.Entries(ctx, repo.Query{FirstID: r.First, LastID: r.Last}))
	if err != nil {
		return nil, err
	}
	k := key(r.Tape, r.First)
	v.requests[k] = &request{r, o}
	v.order = append(v.order, k)
	return v.requests[k], nil
}

func (v *review) add(o *outline.Outline) {
	v.sum.Turns += max(1, int64(len(o.Turns)))
	v.sum.Active += o.Total.Active
	v.sum.Calls += o.Total.Calls
	v.sum.Failed += o.Total.Failed
	for _, m := range o.Models {
		t := v.sum.Tokens[m.Name]
		t.Add(m.Tokens)
		v.sum.Tokens[m.Name] = t
	}
}

// sessionsOf are the tapes that led to the commits, each once.
func (v *review) sessionsOf() (out []string) {
	for _, c := range v.credits {
		for _, s := range c.Shares {
			if !slices.Contains(out, s.Tape) {
				out = append(out, s.Tape)
			}
		}
	}
	return out
}

// people are the authors of the commits, each once.
func (v *review) people() (out []string) {
	for _, c := range v.credits {
		if !slices.Contains(out, c.Author) {
			out = append(out, c.Author)
		}
	}
	return out
}

// unknown counts the commits without a session. Merges are no work of their own.
func (v *review) unknown() (n int) {
	for _, c := range v.credits {
		if len(c.Shares) == 0 && !c.Merge {
			n++
		}
	}
	return n
}

func (v *review) object() stdio.Object {
	commits := stdio.Objects(v.credits, func(c trace.Credit) stdio.Object {
		return append(commitMembers(c.Commit), stdio.Member{"merge", c.Merge}, stdio.Member{"lines", c.Lines}, stdio.Member{"known_lines", c.Known},
			stdio.Member{"turns", stdio.Objects(c.Shares, func(s trace.Share) stdio.Object {
				return append(describeTurn(s.Turn), stdio.Member{"lines", s.Lines}, stdio.Member{"files", append([]string{}, s.Files...)},
					stdio.Member{"failed", v.failures(v.requests[key(s.Tape, s.First)])})
			})})
	})
	sessions := stdio.Objects(v.sessionsOf(), func(name string) stdio.Object {
		a := v.agents[name]
		return stdio.Object{{"tape", name}, {"title", stdio.OrNull(a.Title)}, {"agent", stdio.OrNull(a.Agent)}}
	})
	open := stdio.Objects(v.open, func(r *request) stdio.Object {
		return stdio.Object{{"tape", r.Tape}, {"first_id", r.First}, {"prompt", r.Prompt}, {"date", stdio.DateOrNull(r.Date)}, {"ending", string(r.Ending)}}
	})
	tokens := v.sum.AllTokens()
	out := stdio.Object{{"range", v.Name}, {"commits", commits}, {"sessions", sessions}, {"people", append([]string{}, v.people()...)},
		{"asked_without_commit", open}, {"unknown_commits", v.unknown()}, {"requests", v.sum.Turns}, {"active_seconds", int64(v.sum.Active.Seconds())},
		{"calls", v.sum.Calls}, {"failed_calls", v.sum.Failed},
		{"tokens", tokens.Input + tokens.Output + tokens.CacheRead + tokens.CacheWrite}}
	if v.sum.Priced {
		return append(out, stdio.Member{"cost", v.sum.Cost})
	}
	return append(out, stdio.Member{"cost", nil})
}

func (v *review) failures(r *request) []stdio.Object {
	return stdio.Objects(r.Failed, func(f outline.Failure) stdio.Object {
		return stdio.Object{{"id", f.Entry}, {"tool", f.Tool}, {"call", f.Brief}}
	})
}

// evidence says how it is known that a turn led to a commit.
func evidence(s trace.Share, c trace.Credit) string {
	switch s.How {
	case trace.Edited:
		return fmt.Sprintf("wrote %d of %s", s.Lines, display.Count(c.Lines, "line", "lines"))
	case trace.Recorded:
		return "made the commit"
	case trace.LastEdit:
		return "edited " + display.Count(len(s.Files), "file", "files") + " last; no edit has these lines"
	}
	return "probably made the commit, which was rebased or amended since"
}

const (
	byHand      = "by hand or unknown: no recorded session wrote it"
	maxFailures = 3 // of a request that are shown
	maxOpen     = 8
)

func (v *review) terminal() error {
	if len(v.credits) == 0 {
		v.PrintUnlessQuiet("%s has no commits", v.Name)
		return nil
	}
	v.Page()
	shown := map[string]bool{}
	for _, c := range v.credits {
		head := v.Style(stdio.Bold+";"+stdio.Yellow, display.ShortID(c.ID)) + "  " + v.Style(stdio.Dim, c.Authored.In(v.Now().Location()).Format(time.DateOnly)) + "  "
		v.Line(head + v.Fit(display.Line(c.Subject), v.Width()-26))
		switch {
		case c.Merge:
			v.say("  ", stdio.Dim, "a merge")
		case len(c.Shares) == 0:
			v.say("  ", stdio.Dim, byHand+" ("+c.Author+")")
		}
		for _, s := range c.Shares {
			v.share(s, c, shown)
		}
		if rest := c.Lines - c.Known; rest > 0 && c.Known > 0 {
			v.say("  ", stdio.Dim, display.Count(rest, "line", "lines")+" by hand or unknown")
		}
		if err := v.Written(); err != nil {
			return err
		}
	}
	if len(v.open) > 0 {
		v.Line("")
		v.Line("Asked in these sessions, with nothing of it in these commits:")
		for _, r := range v.open[:min(maxOpen, len(v.open))] {
			v.say("  ", stdio.Green, "> "+r.Prompt)
			v.say("    ", "", v.where(r.Tape, r.First, 0)+ended(r))
		}
		if more := len(v.open) - maxOpen; more > 0 {
			v.Line(fmt.Sprintf("  … and %d more; --json has all", more))
		}
	}
	v.Line("")
	v.say("", "", v.summary())
	return v.Written()
}

// say writes a text, wrapped, behind an indent.
func (v *review) say(indent, colour, text string) {
	cells := 0
	if w := v.Width(); w > 0 {
		cells = max(20, w-len(indent))
	}
	for _, part := range display.Wrap(display.Line(text), cells) {
		v.Line(indent + v.Style(colour, part))
	}
}

// share shows a turn that led to a commit. What failed in it is shown once.
func (v *review) share(s trace.Share, c trace.Credit, shown map[string]bool) {
	if s.Prompt != "" {
		v.say("  ", stdio.Green, "> "+s.Prompt)
	}
	v.say("    ", "", v.where(s.Tape, s.First, s.Last)+": "+evidence(s, c))
	k := key(s.Tape, s.First)
	r := v.requests[k]
	if shown[k] || r == nil {
		return
	}
	shown[k] = true
	for _, f := range r.Failed[:min(maxFailures, len(r.Failed))] {
		v.say("    ", stdio.Red, "failed: "+f.Tool+" "+f.Brief)
	}
	if more := len(r.Failed) + r.Missing - maxFailures; more > 0 {
		v.say("    ", stdio.Red, fmt.Sprintf("and %d more calls failed", more))
	}
	if text := ended(r); text != "" {
		v.say("    ", stdio.Red, strings.TrimPrefix(text, ": "))
	}
}

// where names entries in the form that other commands accept.
func (v *review) where(tape string, first, last int64) string {
	name := display.ShellWord(cmp.Or(v.names[tape], tape))
	if last == 0 {
		return fmt.Sprintf("%s@%d", name, first)
	}
	return name + display.IDRange(first, last)
}

// ended says that a request did not end with an answer; "" if it did.
func ended(r *request) string {
	if r.Ending == "" || string(r.Ending) == "answered" || string(r.Ending) == "working" {
		return ""
	}
	return ": " + report.End(r.Ending, "")
}

func (v *review) summary() string {
	agents := map[string]bool{}
	var names []string
	for _, name := range v.sessionsOf() {
		if agent := cmp.Or(v.agents[name].Agent, "an unknown agent"); !agents[agent] {
			agents[agent] = true
			names = append(names, agent)
		}
	}
	parts := []string{v.Name + ": " + display.Count(len(v.credits), "commit", "commits")}
	if n := v.unknown(); n > 0 {
		parts[0] += fmt.Sprintf(", %d by hand or unknown", n)
	}
	if len(names) > 0 {
		parts = append(parts, display.Count(v.sum.Sessions, "session", "sessions")+" of "+strings.Join(names, ", "))
	}
	parts = append(parts, "by "+strings.Join(v.people(), ", "))
	if work := display.Work(v.sum.Active); work != "" {
		parts = append(parts, work)
	}
	tokens := v.sum.AllTokens()
	if n := tokens.Input + tokens.Output + tokens.CacheRead + tokens.CacheWrite; n > 0 {
		parts = append(parts, display.Number(n)+" tokens")
	}
	if cost := v.sum.CostText(); cost != "" {
		parts = append(parts, cost)
	}
	return strings.Join(parts, "; ")
}
