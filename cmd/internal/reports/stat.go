package reports

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"tape/cmd/internal/stdio"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/review"
	"tape/internal/sessions/trace"
)

// stat counts lines by who wrote them.
type stat struct {
	finder *trace.Finder
	agents map[string]int
	people int // in no session, although there were sessions then
	rest   int // unknown: older than the first session, cut off in a shallow clone, or edited after a session's edit
	cache  map[string]string
}

// StatFile shows how many lines of a file agents and people wrote.
func StatFile(ctx context.Context, s *stdio.Streams, f *trace.Finder, project projectgit.Repo, file string, runs []projectgit.Run) error {
	list, err := findTurns(ctx, s, f, project, file, runs)
	if err != nil {
		return err
	}
	sum := newStat(f)
	for _, b := range list {
		n := b.Last - b.First + 1
		switch {
		case len(b.turns) > 0 && b.turns[0].How == trace.LastEdit:
			sum.rest += n
		case len(b.turns) > 0 && b.turns[0].How != trace.Open:
			err = sum.agent(ctx, b.turns[0].Tape, n)
		case b.unknown.Code == "" || isPerson(b.unknown.Code):
			sum.people += n
		default:
			sum.rest += n
		}
		if err != nil {
			return err
		}
	}
	return sum.show(s)
}

// StatRange shows how many of the lines that the commits of a range added agents and people wrote.
func StatRange(ctx context.Context, s *stdio.Streams, f *trace.Finder, project projectgit.Repo, r review.Range) error {
	patches, err := project.Range(ctx, r.Base, r.Head)
	if err != nil {
		return err
	}
	root, err := trace.FileNamed(ctx, filepath.FromSlash(project.Top))
	if err != nil {
		return err
	}
	credits, err := f.Review(ctx, project, root, patches)
	if err != nil {
		return err
	}
	sum := newStat(f)
	for _, c := range credits {
		if err := sum.commit(ctx, s, c); err != nil {
			return err
		}
	}
	return sum.show(s)
}

func newStat(f *trace.Finder) *stat {
	return &stat{finder: f, agents: map[string]int{}, cache: map[string]string{}}
}

// commit counts the lines of a commit. Those that no edit has are of the agent that made the commit, as in blame.
func (t *stat) commit(ctx context.Context, s *stdio.Streams, c trace.Credit) error {
	left := c.Added
	for _, share := range c.Shares {
		left -= share.Added
		if err := t.agent(ctx, share.Tape, share.Added); err != nil {
			return err
		}
	}
	made := slices.IndexFunc(c.Shares, func(x trace.Share) bool { return x.How == trace.Recorded || x.How == trace.Probably })
	switch {
	case left == 0:
		return nil
	case made >= 0:
		return t.agent(ctx, c.Shares[made].Tape, left)
	case len(c.Shares) > 0: // a formatter after the agent, or a person
		t.rest += left
		return nil
	}
	why, err := Why(ctx, s, t.finder, c.Commit)
	if isPerson(why.Code) {
		t.people += left
	} else {
		t.rest += left
	}
	return err
}

// isPerson reports whether lines without a session are a person's: there were sessions, and none has them.
func isPerson(code string) bool { return code == "nothing_recorded" || code == "not_committed" }

// agent counts lines of the agent of a tape.
func (t *stat) agent(ctx context.Context, tape string, n int) error {
	name, known := t.cache[tape]
	if !known {
		about, err := t.finder.Of(ctx, tape)
		if err != nil {
			return err
		}
		name = cmp.Or(about.Agent, "an unknown agent")
		t.cache[tape] = name
	}
	if n > 0 {
		t.agents[name] += n
	}
	return nil
}

func (t *stat) show(s *stdio.Streams) error {
	total := t.people + t.rest
	agents := stdio.Object{}
	names := slices.SortedFunc(maps.Keys(t.agents), func(a, b string) int { return cmp.Or(cmp.Compare(t.agents[b], t.agents[a]), cmp.Compare(a, b)) })
	for _, name := range names {
		total += t.agents[name]
		agents = append(agents, stdio.Member{name, t.agents[name]})
	}
	if s.JSON {
		return s.Emit(stdio.Object{{"lines", total}, {"agents", agents}, {"people", t.people}, {"unknown", t.rest}})
	}
	table := stdio.NewTable("WHO", ">LINES", ">SHARE")
	add := func(who string, n int) {
		if n > 0 {
			table.Add(who, n, fmt.Sprintf("%.0f %%", 100*float64(n)/float64(total)))
		}
	}
	for _, name := range names {
		add(name, t.agents[name])
	}
	add("people", t.people)
	add("unknown", t.rest)
	if total == 0 {
		s.PrintUnlessQuiet("no lines")
		return nil
	}
	table.Write(s)
	return s.Written()
}
