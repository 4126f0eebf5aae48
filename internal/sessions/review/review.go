// Package review finds out what led to the commits of a range: the sessions, what was asked, what failed on the way, and
// what was asked and not done. The terminal, JSON, Markdown and the web view show it.
package review

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/trace"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/activity"
	"tape/internal/store/layout"
	"tape/internal/store/prices"
	"tape/repo"
)

// Range is a range of commits of a project.
type Range struct {
	Name       string // as a person would write it: main..HEAD
	Base, Head string // see projectgit's Range
}

// Review is a range of commits with what led to them.
type Review struct {
	Range
	Credits  []trace.Credit
	Sessions []string              // the tapes that led to the commits, each once
	Agents   map[string]about.Tape // by tape
	Requests []*Request            // those that led to the commits, as they come
	Open     []*Request            // asked in the sessions up to the last commit, with nothing of it in the commits
	Sum      report.Row            // of Requests

	requests map[string]*Request // by tape and first entry
}

// Request is a whole turn with what was done in it.
type Request struct {
	trace.Request
	*outline.Outline
}

// Of finds out what led to the commits of a range.
func Of(ctx context.Context, f *trace.Finder, project projectgit.Repo, r Range, list prices.List) (*Review, error) {
	patches, err := project.Range(ctx, r.Base, r.Head)
	if err != nil {
		return nil, err
	}
	root, err := trace.FileNamed(ctx, filepath.FromSlash(project.Top))
	if err != nil {
		return nil, err
	}
	v := &Review{Range: r, requests: map[string]*Request{}, Agents: map[string]about.Tape{}}
	if v.Credits, err = f.Review(ctx, project, root, patches); err != nil {
		return nil, err
	}
	return v, v.gather(ctx, f, list)
}

func key(tape string, first int64) string { return fmt.Sprintf("%s\x00%d", tape, first) }

// Request returns the whole request of a share.
func (v *Review) Request(s trace.Share) *Request { return v.requests[key(s.Tape, s.First)] }

// gather reads the requests that led to the commits, and those beside them.
func (v *Review) gather(ctx context.Context, f *trace.Finder, list prices.List) error {
	type span struct{ first, last int64 }
	spans := map[string]span{}
	for _, c := range v.Credits {
		for _, share := range c.Shares {
			sp, known := spans[share.Tape]
			if !known {
				v.Sessions = append(v.Sessions, share.Tape)
				sp = span{share.First, share.First}
			}
			spans[share.Tape] = span{min(sp.first, share.First), max(sp.last, share.Last)}
			if v.Request(share) != nil {
				continue
			}
			r, err := f.Request(ctx, share.Turn)
			if err != nil {
				return err
			}
			found, err := v.read(ctx, f, r)
			if err != nil {
				return err
			}
			v.Requests = append(v.Requests, found)
		}
	}
	v.Sum.Tokens = map[string]index.Tokens{}
	for _, r := range v.Requests {
		v.add(r.Outline)
	}
	v.Sum.Sessions = int64(len(v.Sessions))
	v.Sum.Price(list)
	var end time.Time // of the range
	for _, c := range v.Credits {
		for _, at := range []time.Time{c.Committed, c.Authored} {
			if at.After(end) {
				end = at
			}
		}
	}
	for _, name := range v.Sessions {
		var err error
		if v.Agents[name], err = f.Of(ctx, name); err != nil {
			return err
		}
		beside, err := f.Requests(ctx, name, spans[name].first, math.MaxInt64)
		if err != nil {
			return err
		}
		for _, r := range beside {
			if v.requests[key(r.Tape, r.First)] != nil || r.First > spans[name].last && r.Date.After(end) {
				continue
			}
			if found, err := v.read(ctx, f, r); err != nil {
				return err
			} else if len(found.Commits) == 0 {
				v.Open = append(v.Open, found)
			}
		}
	}
	return nil
}

// read reads what was done in a request.
func (v *Review) read(ctx context.Context, f *trace.Finder, r trace.Request) (*Request, error) {
	t, err := f.Store.Tape(ctx, r.Tape)
	if err != nil {
		return nil, err
	}
	o, err := outline.Of(ctx, t.Entries(ctx, repo.Query{FirstID: r.First, LastID: r.Last}))
	if err != nil {
		return nil, err
	}
	found := &Request{r, o}
	v.requests[key(r.Tape, r.First)] = found
	return found, nil
}

func (v *Review) add(o *outline.Outline) {
	v.Sum.Turns += max(1, int64(len(o.Turns)))
	v.Sum.Active += o.Total.Active
	v.Sum.Calls += o.Total.Calls
	v.Sum.Failed += o.Total.Failed
	for _, m := range o.Models {
		t := v.Sum.Tokens[m.Name]
		t.Add(m.Tokens)
		v.Sum.Tokens[m.Name] = t
	}
}

// People are the authors of the commits, each once.
func (v *Review) People() (out []string) {
	for _, c := range v.Credits {
		if !slices.Contains(out, c.Author) {
			out = append(out, c.Author)
		}
	}
	return out
}

// Unknown counts the commits without a session. Merges are no work of their own.
func (v *Review) Unknown() (n int) {
	for _, c := range v.Credits {
		if len(c.Shares) == 0 && !c.Merge {
			n++
		}
	}
	return n
}

// ByHand is what is said of a commit without a session.
const ByHand = "by hand or unknown: no recorded session wrote it"

// Evidence says how it is known that a turn led to a commit.
func Evidence(s trace.Share, c trace.Credit) string {
	switch s.How {
	case trace.Edited:
		return fmt.Sprintf("wrote %d of %s", s.Lines, display.Count(c.Lines, "line", "lines"))
	case trace.Recorded:
		return "made the commit"
	case trace.LastEdit:
		text := "edited " + display.Count(len(s.Files), "file", "files") + " last; "
		if c.Added == 0 {
			return text + "the commit adds no line"
		}
		return text + "no edit has these lines"
	}
	return "probably made the commit, which was rebased or amended since"
}

// Ended says how a request ended, if not with an answer; else "".
func (r *Request) Ended() string {
	if r.Ending == "" || r.Ending == activity.Answered || r.Ending == activity.Working {
		return ""
	}
	return report.End(r.Ending, "")
}

// Summary is the sum in a sentence: commits, sessions, people, time, tokens and cost.
func (v *Review) Summary() string {
	agents := map[string]bool{}
	var names []string
	for _, name := range v.Sessions {
		if agent := cmp.Or(v.Agents[name].Agent, "an unknown agent"); !agents[agent] {
			agents[agent] = true
			names = append(names, agent)
		}
	}
	parts := []string{v.Name + ": " + display.Count(len(v.Credits), "commit", "commits")}
	if n := v.Unknown(); n > 0 {
		parts[0] += fmt.Sprintf(", %d by hand or unknown", n)
	}
	if len(names) > 0 {
		parts = append(parts, display.Count(v.Sum.Sessions, "session", "sessions")+" of "+strings.Join(names, ", "))
	}
	if people := v.People(); len(people) > 0 {
		parts = append(parts, "by "+strings.Join(people, ", "))
	}
	if work := display.Work(v.Sum.Active); work != "" {
		parts = append(parts, work)
	}
	tokens := v.Sum.AllTokens()
	if n := tokens.Input + tokens.Output + tokens.CacheRead + tokens.CacheWrite; n > 0 {
		parts = append(parts, display.Number(n)+" tokens")
	}
	if cost := v.Sum.CostText(); cost != "" {
		parts = append(parts, cost)
	}
	return strings.Join(parts, "; ")
}

// Parse returns the range of commits that an argument means: BASE..HEAD, a branch, which is compared with what it is
// based on, or a commit alone; "" is the current branch. Errors: layout.ErrNotFound.
func Parse(ctx context.Context, project projectgit.Repo, arg string) (r Range, err error) {
	from, to, isRange := strings.Cut(arg, "..")
	if !isRange {
		to = arg
		isBranch := to == ""
		if !isBranch {
			if isBranch, err = project.IsBranch(ctx, to); err != nil {
				return r, err
			}
		}
		if !isBranch {
			c, err := revision(ctx, project, to)
			if c == to {
				to = display.ShortID(to)
			}
			return Range{Name: to, Head: c}, err
		}
		if from, err = project.ReviewBase(ctx, orHead(to)); err != nil {
			return r, err
		}
		if from == "" {
			return r, layout.NotFound("name a range, such as HEAD~5..HEAD", "there is nothing to review %s against: it has no upstream, and there is no other main branch", display.Quoted(orHead(to)))
		}
		from = strings.TrimPrefix(strings.TrimPrefix(from, "refs/heads/"), "refs/remotes/")
	}
	from, to = orHead(from), orHead(strings.TrimPrefix(to, "."))
	r.Name = from + ".." + to
	if r.Base, err = revision(ctx, project, from); err == nil {
		r.Head, err = revision(ctx, project, to)
	}
	return r, err
}

func orHead(name string) string { return cmp.Or(name, "HEAD") }

// revision returns the commit that a name means in a project.
func revision(ctx context.Context, project projectgit.Repo, name string) (string, error) {
	if !strings.HasPrefix(name, "-") {
		if c, ok, err := project.Commit(ctx, name); ok || err != nil {
			return c.ID, err
		}
	}
	hint := "git log --all --oneline lists commits; git fetch brings those of others"
	if project.Shallow {
		hint = "this is a shallow clone: git fetch --unshallow brings the commits before"
	}
	return "", layout.NotFound(hint, "there is no commit %s here", display.Quoted(name))
}
