package reports

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/review"
	"tape/internal/sessions/trace"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/store/prices"
)

// Reviewing says what Review shows, and how.
type Reviewing struct {
	review.Range
	Project  projectgit.Repo
	Prices   prices.List
	Markdown bool
	Mask     func(string) string // replaces the secrets in a text, for Markdown
}

// ShowReview shows which sessions and requests led to the commits of a range.
func ShowReview(ctx context.Context, s *stdio.Streams, f *trace.Finder, r Reviewing) error {
	found, err := review.Of(ctx, f, r.Project, r.Range, r.Prices)
	if err != nil {
		return err
	}
	v := &shownReview{Streams: s, Review: found, mask: r.Mask}
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

// shownReview shows a review.
type shownReview struct {
	*stdio.Streams
	*review.Review
	names map[string]string // short names of tapes, for a screen
	mask  func(string) string
}

func (v *shownReview) object() stdio.Object {
	commits := stdio.Objects(v.Credits, func(c trace.Credit) stdio.Object {
		return append(commitMembers(c.Commit), stdio.Member{"merge", c.Merge}, stdio.Member{"lines", c.Lines}, stdio.Member{"known_lines", c.Known},
			stdio.Member{"turns", stdio.Objects(c.Shares, func(s trace.Share) stdio.Object {
				return append(describeTurn(s.Turn), stdio.Member{"lines", s.Lines}, stdio.Member{"files", append([]string{}, s.Files...)},
					stdio.Member{"failed", v.failures(v.Request(s))})
			})})
	})
	sessions := stdio.Objects(v.Sessions, func(name string) stdio.Object {
		a := v.Agents[name]
		return stdio.Object{{"tape", name}, {"title", stdio.OrNull(a.Title)}, {"agent", stdio.OrNull(a.Agent)}}
	})
	open := stdio.Objects(v.Open, func(r *review.Request) stdio.Object {
		return stdio.Object{{"tape", r.Tape}, {"first_id", r.First}, {"prompt", r.Prompt}, {"date", stdio.DateOrNull(r.Date)}, {"ending", string(r.Ending)}}
	})
	tokens := v.Sum.AllTokens()
	out := stdio.Object{{"range", v.Name}, {"commits", commits}, {"sessions", sessions}, {"people", append([]string{}, v.People()...)},
		{"asked_without_commit", open}, {"unknown_commits", v.Unknown()}, {"requests", v.Sum.Turns}, {"active_seconds", int64(v.Sum.Active.Seconds())},
		{"calls", v.Sum.Calls}, {"failed_calls", v.Sum.Failed},
		{"tokens", tokens.Input + tokens.Output + tokens.CacheRead + tokens.CacheWrite}}
	if v.Sum.Priced {
		return append(out, stdio.Member{"cost", v.Sum.Cost})
	}
	return append(out, stdio.Member{"cost", nil})
}

func (v *shownReview) failures(r *review.Request) []stdio.Object {
	return stdio.Objects(r.Failed, func(f outline.Failure) stdio.Object {
		return stdio.Object{{"id", f.Entry}, {"tool", f.Tool}, {"call", f.Brief}}
	})
}

const (
	maxFailures = 3 // of a request that are shown
	maxOpen     = 8
)

func (v *shownReview) terminal() error {
	if len(v.Credits) == 0 {
		v.PrintUnlessQuiet("%s has no commits", v.Name)
		return nil
	}
	v.Page()
	shown := map[*review.Request]bool{}
	for _, c := range v.Credits {
		head := v.Style(stdio.Bold+";"+stdio.Yellow, display.ShortID(c.ID)) + "  " + v.Style(stdio.Dim, c.Authored.In(v.Now().Location()).Format(time.DateOnly)) + "  "
		v.Line(head + v.Fit(display.Line(c.Subject), v.Width()-26))
		switch {
		case c.Merge:
			v.say("  ", stdio.Dim, "a merge")
		case len(c.Shares) == 0:
			v.say("  ", stdio.Dim, review.ByHand+" ("+c.Author+")")
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
	if len(v.Open) > 0 {
		v.Line("")
		v.Line("Asked in these sessions, with nothing of it in these commits:")
		for _, r := range v.Open[:min(maxOpen, len(v.Open))] {
			v.say("  ", stdio.Green, "> "+r.Prompt)
			v.say("    ", "", v.where(r.Tape, r.First, 0)+after(": ", r.Ended()))
		}
		if more := len(v.Open) - maxOpen; more > 0 {
			v.Line(fmt.Sprintf("  … and %d more; --json has all", more))
		}
	}
	v.Line("")
	v.say("", "", v.Summary())
	return v.Written()
}

// say writes a text, wrapped, behind an indent.
func (v *shownReview) say(indent, colour, text string) {
	cells := 0
	if w := v.Width(); w > 0 {
		cells = max(20, w-len(indent))
	}
	for _, part := range display.Wrap(display.Line(text), cells) {
		v.Line(indent + v.Style(colour, part))
	}
}

// share shows a turn that led to a commit. What failed in it is shown once.
func (v *shownReview) share(s trace.Share, c trace.Credit, shown map[*review.Request]bool) {
	if s.Prompt != "" {
		v.say("  ", stdio.Green, "> "+s.Prompt)
	}
	v.say("    ", "", v.where(s.Tape, s.First, s.Last)+": "+review.Evidence(s, c))
	r := v.Request(s)
	if shown[r] || r == nil {
		return
	}
	shown[r] = true
	for _, f := range r.Failed[:min(maxFailures, len(r.Failed))] {
		v.say("    ", stdio.Red, "failed: "+f.Tool+" "+f.Brief)
	}
	if more := len(r.Failed) + r.Missing - maxFailures; more > 0 {
		v.say("    ", stdio.Red, fmt.Sprintf("and %d more calls failed", more))
	}
	if text := r.Ended(); text != "" {
		v.say("    ", stdio.Red, text)
	}
}

// where names entries in the form that other commands accept.
func (v *shownReview) where(tape string, first, last int64) string {
	name := display.ShellWord(cmp.Or(v.names[tape], tape))
	if last == 0 {
		return fmt.Sprintf("%s@%d", name, first)
	}
	return name + display.IDRange(first, last)
}

// after puts a text before another one, unless that is empty.
func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}
