package trace

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tape/internal/git/projectgit"
	"tape/internal/store/about"
	"tape/repo"
)

// Credit is what is known about a commit.
type Credit struct {
	projectgit.Patch
	Added  int     // all added lines
	Lines  int     // those that tell who wrote them, see Telling
	Known  int     // those of Lines that an edit has
	Shares []Share // those with the most lines first
}

// Share is what a turn has of a commit.
type Share struct {
	Turn
	Lines int      // of the commit's Lines that an edit of the turn has
	Added int      // Lines, and those that follow them and tell nothing, such as brackets
	Files []string // of the commit that the turn edited
}

// slack is how much later than its commit an edit may be dated: git drops fractions of seconds.
const slack = time.Second

// Review finds the turns that led to the commits of a range, which come in the order of Range. A line is credited to
// the edit that wrote it. A file that was edited since the commit before, where the commit has no line of an edit, is
// credited to the last edit of which the file has a line, or which only removed some. Where that leaves something open, the turn in which the agent made the commit counts. Nothing follows
// from times alone: a commit may be without a share. root is the project's folder.
func (f *Finder) Review(ctx context.Context, project projectgit.Repo, root *File, patches []projectgit.Patch) ([]Credit, error) {
	edits, err := f.editsOf(ctx, root, patches)
	if err != nil {
		return nil, err
	}
	commits := make([]projectgit.Commit, len(patches))
	for i, p := range patches {
		commits[i] = p.Commit
	}
	recorded, err := f.Recorded(ctx, commits)
	if err != nil {
		return nil, err
	}
	changed := map[string]time.Time{} // when files were last changed, in the range
	out := make([]Credit, len(patches))
	for i, p := range patches {
		c := &out[i]
		c.Patch = p
		for _, file := range p.Files {
			c.Added += file.Lines
			since, known := changed[cmp.Or(file.Former, file.Path)]
			if list := edits[file.Path]; list != nil && len(list.list) > 0 {
				if !known {
					if since, err = project.LastChange(ctx, p.ID+"^", cmp.Or(file.Former, file.Path)); err != nil {
						return nil, err
					}
				}
				before := sync.OnceValues(func() (map[string]bool, error) {
					return project.Lines(ctx, p.ID+"^", cmp.Or(file.Former, file.Path))
				})
				after := func() (map[string]bool, error) { return project.Lines(ctx, p.ID, file.Path) }
				if err := c.credit(ctx, list, file, since, before, after); err != nil {
					return nil, err
				}
			} else {
				c.Lines += countTelling(file.Added)
			}
			changed[file.Path] = p.Authored
		}
		for _, t := range recorded[p.ID] {
			if c.Known < c.Lines || len(c.Shares) == 0 || c.has(t) {
				c.share(t)
			}
		}
		slices.SortStableFunc(c.Shares, func(a, b Share) int { return cmp.Compare(b.Lines, a.Lines) })
	}
	return out, nil
}

// LedTo returns the turns that led to a commit of a project: those of Review, else those of Turns. A commit that the
// project does not have, of which only the id is known, has those of Turns.
func (f *Finder) LedTo(ctx context.Context, project projectgit.Repo, c projectgit.Commit) ([]Turn, error) {
	if project.Top != "" && !c.Authored.IsZero() {
		root, err := FileNamed(ctx, filepath.FromSlash(project.Top))
		if err != nil {
			return nil, err
		}
		patches, err := project.Range(ctx, "", c.ID)
		if err != nil {
			return nil, err
		}
		credits, err := f.Review(ctx, project, root, patches)
		if err != nil {
			return nil, err
		}
		var out []Turn
		for _, credit := range credits {
			for _, s := range credit.Shares {
				out = append(out, s.Turn)
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
	found, err := f.Turns(ctx, []projectgit.Commit{c})
	return found[c.ID], err
}

// editsOf returns the edits of all files that commits changed, by their paths after the commit.
func (f *Finder) editsOf(ctx context.Context, root *File, patches []projectgit.Patch) (map[string]*Edits, error) {
	names := map[string][]string{} // a file's path, then its former ones
	var order []string
	for _, p := range patches {
		for _, file := range p.Files {
			if names[file.Path] == nil {
				names[file.Path] = []string{file.Path}
				order = append(order, file.Path)
			}
			for _, former := range append([]string{file.Former}, names[file.Former]...) {
				if former != "" && !slices.Contains(names[file.Path], former) {
					names[file.Path] = append(names[file.Path], former)
				}
			}
		}
	}
	files := make([]*File, len(order))
	for i, name := range order {
		files[i] = root.In(names[name]...)
	}
	found, err := f.Edits(ctx, files...)
	out := map[string]*Edits{}
	for i, e := range found {
		out[order[i]] = e
	}
	return out, err
}

func countTelling(lines []string) (n int) {
	for _, line := range lines {
		if Telling(line) {
			n++
		}
	}
	return n
}

// credit adds what a commit did with a file. Edits count from since, when the commit before changed it; an earlier one
// counts only for a line that the file did not have before. A line that the commit moved or indented is not the work
// of the edit that wrote it for an earlier commit. before and after read the file's lines.
func (c *Credit) credit(ctx context.Context, edits *Edits, file projectgit.FilePatch, since time.Time, before, after func() (map[string]bool, error)) error {
	authored, committed := c.Authored.Add(slack), c.Committed.Add(slack)
	add := func(i int, how How) (*Share, error) {
		t, err := edits.Turn(ctx, i, how)
		if err != nil {
			return nil, err
		}
		s := c.share(t)
		if !slices.Contains(s.Files, file.Path) {
			s.Files = append(s.Files, file.Path)
		}
		return s, nil
	}
	known, last := 0, -1
	for _, line := range file.Added {
		telling := Telling(line)
		if telling {
			c.Lines++
			if last = edits.WriterOf(line, since, authored); last < 0 && committed.After(authored) { // amended, or rebased
				last = edits.WriterOf(line, since, committed)
			}
			if last >= 0 && edits.list[last].At.Before(since) {
				had, err := before()
				if err != nil {
					return err
				}
				if had[projectgit.Bare(line)] {
					last = -1
				}
			}
		}
		if last < 0 {
			continue
		}
		s, err := add(last, Edited)
		if err != nil {
			return err
		}
		if s.Added++; telling {
			s.Lines++
			known++
		}
	}
	c.Known += known
	if known > 0 {
		return nil
	}
	has, err := after()
	if err != nil {
		return err
	}
	var had map[string]bool // a commit that only removes lines has none of its own
	if countTelling(file.Added) > 0 {
		if had, err = before(); err != nil {
			return err
		}
	}
	if i := edits.LastIn(has, had, since, authored); i >= 0 {
		_, err = add(i, LastEdit)
	}
	return err
}

// has reports whether a turn has a share.
func (c *Credit) has(t Turn) bool {
	return slices.ContainsFunc(c.Shares, func(s Share) bool { return s.Tape == t.Tape && s.First == t.First })
}

// share returns the share of a turn, which it adds if there is none. The surest evidence of a turn counts.
func (c *Credit) share(t Turn) *Share {
	for i := range c.Shares {
		s := &c.Shares[i]
		if s.Tape == t.Tape && s.First == t.First {
			s.Last = max(s.Last, t.Last)
			if slices.Index(sureness, t.How) < slices.Index(sureness, s.How) {
				s.How = t.How
			}
			return s
		}
	}
	c.Shares = append(c.Shares, Share{Turn: t})
	return &c.Shares[len(c.Shares)-1]
}

// sureness has the ways to know that a turn led to a commit, the surest first.
var sureness = []How{Edited, Recorded, LastEdit, Probably, Open}

// Request is a whole turn: from a request to the entry before the next one.
type Request struct {
	Tape        string
	First, Last int64  // Last is 0 if the tape ends with it
	Prompt      string // a line; "" if it is not known
	Date        time.Time
}

// Requests returns the requests of a tape from an entry up to another one that say more than "yes", in their order.
func (f *Finder) Requests(ctx context.Context, tape string, from, to int64) ([]Request, error) {
	prompts, err := f.promptsOf(ctx, tape)
	if err != nil {
		return nil, err
	}
	var out []Request
	for _, p := range prompts {
		if saysLittle(p.title) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Last == 0 {
			out[n-1].Last = p.id - 1
		}
		if p.id >= from && p.id <= to {
			out = append(out, Request{Tape: tape, First: p.id, Prompt: p.title, Date: p.date})
		}
	}
	return out, nil
}

// Request returns the whole turn of a share.
func (f *Finder) Request(ctx context.Context, t Turn) (Request, error) {
	found, err := f.Requests(ctx, t.Tape, t.First, t.First)
	if err != nil || len(found) == 0 {
		return Request{Tape: t.Tape, First: t.First, Last: t.Last, Prompt: t.Prompt, Date: t.Date}, err
	}
	return found[0], nil
}

// Of returns what is known about a tape; zero if nothing is.
func (f *Finder) Of(ctx context.Context, tape string) (about.Tape, error) {
	t, err := f.Store.Tape(ctx, tape)
	if err != nil {
		return about.Tape{}, err
	}
	all, err := f.Index.About(ctx, []*repo.Tape{t})
	return all[t.Branch()], err
}
