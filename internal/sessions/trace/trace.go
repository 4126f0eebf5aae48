// Package trace finds the turns that led to the commits of a project. A turn is a part of a session, from
// what a person asked to the commit. Which recorded paths are a file of the project is decided here too.
package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"tape/index"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// How says how it is known that a turn led to a commit.
type How string

// The ways to know it.
const (
	// Edited: an edit of the turn has the line.
	Edited How = "edited"
	// LastEdit: an edit of the turn was the last one of the file before the commit.
	LastEdit How = "last_edit"
	// Recorded: the tape has the event of the commit, because the agent made it.
	Recorded How = "recorded"
	// Probably: the tape has the event of a commit with the same subject and author date. It was rebased
	// or amended since.
	Probably How = "probably"
	// Open: somebody made the commit while the session was open, or shortly after.
	Open How = "open"
)

const (
	sameTime = 10 * time.Minute // the longest time between a commit and its event
	openFor  = time.Hour        // how long after its last entry a session counts as open
	maxOpen  = 3                // how many sessions are returned that were open at once
)

// Turn is the part of a tape that led to a commit.
type Turn struct {
	Tape, Title string
	First, Last int64     // entries: from the prompt to the commit, or to the last one before the next prompt
	Prompt      string    // shortened to a line; "" if it is not known
	Date        time.Time // of the prompt
	How         How
}

// Finder finds turns in the tapes of a workspace. It is not safe for concurrent use.
type Finder struct {
	Store   *repo.Store
	Index   *index.Index
	Tapes   []string                                             // names; nil: all
	About   func(context.Context) (map[string]about.Tape, error) // all tapes, by branch
	Project string                                               // the project's directory, "" without one
	Home    string                                               // the directory of the workspace's project, if it is known

	about   map[string]about.Tape
	titles  map[string]string
	prompts map[string][]prompt
	dirs    map[string]bool // whether directories are in the project
}

// Turns returns the turns that led to commits, by commit id: those that Recorded returns, else those of the sessions
// that were open then.
func (f *Finder) Turns(ctx context.Context, commits []projectgit.Commit) (map[string][]Turn, error) {
	return f.first(ctx, commits, f.recorded, f.probable, f.whileOpen)
}

// Recorded returns the turns whose tapes have the events of commits, by commit id.
func (f *Finder) Recorded(ctx context.Context, commits []projectgit.Commit) (map[string][]Turn, error) {
	return f.first(ctx, commits, f.recorded, f.probable)
}

// first asks for each commit one way after the other until one knows it.
func (f *Finder) first(ctx context.Context, commits []projectgit.Commit,
	ways ...func(context.Context, []projectgit.Commit, map[string][]Turn) error) (map[string][]Turn, error) {
	out := map[string][]Turn{}
	for _, find := range ways {
		left := slices.DeleteFunc(slices.Clone(commits), func(c projectgit.Commit) bool { return out[c.ID] != nil })
		if len(left) == 0 {
			break
		}
		if err := find(ctx, left, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recorded finds the events of commits by id. An event may have a short id.
func (f *Finder) recorded(ctx context.Context, commits []projectgit.Commit, out map[string][]Turn) error {
	words := func(c projectgit.Commit) string { return c.ID[:min(len(c.ID), 7)] + "*" }
	is := func(c projectgit.Commit, e repo.Entry) bool {
		id := jsonl.GetString(e.Payload, "data", "id")
		return id != "" && (strings.HasPrefix(c.ID, id) || strings.HasPrefix(id, c.ID))
	}
	return f.events(ctx, commits, out, Recorded, words, is)
}

// probable finds the events of commits that have other ids now.
func (f *Finder) probable(ctx context.Context, commits []projectgit.Commit, out map[string][]Turn) error {
	commits = slices.DeleteFunc(commits, func(c projectgit.Commit) bool { return c.Authored.IsZero() || c.Subject == "" })
	is := func(c projectgit.Commit, e repo.Entry) bool {
		at, ok := e.Time()
		return ok && at.Sub(c.Authored).Abs() <= sameTime && jsonl.GetString(e.Payload, "data", "subject") == c.Subject
	}
	return f.events(ctx, commits, out, Probably, subjectWords, is)
}

// subjectWords returns the longest words of a commit's subject, without the syntax of searches.
func subjectWords(c projectgit.Commit) string {
	const enough = 3
	words := strings.Fields(strings.ToLower(c.Subject))
	for i, w := range words {
		words[i] = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return strings.Join(words[:min(len(words), enough)], " ")
}

// events asks the index for the events of some commits, several at a time. words returns the search for a
// commit, and is reports whether a hit is the commit's event.
func (f *Finder) events(ctx context.Context, commits []projectgit.Commit, out map[string][]Turn, how How,
	words func(projectgit.Commit) string, is func(projectgit.Commit, repo.Entry) bool) error {
	const atOnce = 12 // a query may have 64 words and operators
	for some := range slices.Chunk(commits, atOnce) {
		queries := make([]string, len(some))
		for i, c := range some {
			queries[i] = record.EventCommit + " " + words(c)
		}
		res, err := f.Index.Search(ctx, index.Search{Text: strings.Join(queries, " OR "), AsSpelt: true, NoFold: true, Newest: true,
			Tapes: f.Tapes, Query: repo.Query{Kinds: []string{repo.KindEvent}}})
		if err != nil {
			return err
		}
		slices.Reverse(res.Hits) // a session comes before its copies
		for _, h := range res.Hits {
			if jsonl.GetString(h.Payload, "name") != record.EventCommit {
				continue
			}
			for _, c := range some {
				found := slices.ContainsFunc(out[c.ID], func(t Turn) bool { return t.Tape == h.Tape })
				if found || !is(c, h.Entry) {
					continue
				}
				t, err := f.turn(ctx, h.Entry, how)
				if err != nil {
					return err
				}
				out[c.ID] = append(out[c.ID], t)
			}
		}
	}
	return nil
}

// turn returns the turn of an event. It begins with the last prompt before the event that says more than "yes",
// both by id and by date: entries that a merge or a later import added may follow prompts that are younger.
func (f *Finder) turn(ctx context.Context, e repo.Entry, how How) (Turn, error) {
	t := Turn{Tape: e.Tape, First: 1, Last: e.ID, How: how}
	prompts, err := f.promptsOf(ctx, e.Tape)
	if err != nil {
		return t, err
	}
	at, dated := e.Time()
	for _, p := range prompts {
		switch {
		case p.id > e.ID:
		case dated && p.date.After(at):
			t.Last = min(t.Last, p.id-1)
		case t.Prompt != "" && saysLittle(p.title):
			t.Last = e.ID // the prompt before says more
		default:
			t.First, t.Last, t.Prompt, t.Date = p.id, e.ID, p.title, p.date
		}
	}
	t.Title, err = f.title(ctx, e.Tape)
	return t, err
}

// little are words of requests that only agree, or only ask for a commit.
const little = " a again agreed ahead all also amend and approved awesome can change changes commit commits committed" +
	" continue cool create do does done everything excellent fine for go good great i in is it just keep" +
	" let lets lgtm looks make me merge message nice no now of ok okay on open perfect please pr proceed" +
	" pull push request right run ship sounds stage sure thank thanks that the them then these thing this" +
	" to try understood up we well with work works y yea yeah yep yes you your ja gut bitte weiter danke" +
	" mach genau einverstanden oui si 好 好的 是 是的 可以 继续 提交 谢谢 对 行 "

// saysLittle reports whether a request says no more than "yes" or "commit this".
func saysLittle(prompt string) bool {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(prompt, "'", "")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	const most = 8
	git := slices.Contains(words, "commit") // "add commit push", but not "add a message"
	return len(words) <= most && !slices.ContainsFunc(words, func(w string) bool {
		return !strings.Contains(little, " "+w+" ") && !(git && (w == "add" || w == "git"))
	})
}

// prompt is what a person asked on a tape.
type prompt struct {
	id    int64
	date  time.Time
	title string
}

func (f *Finder) promptsOf(ctx context.Context, tape string) ([]prompt, error) {
	if list, ok := f.prompts[tape]; ok {
		return list, nil
	}
	t, err := f.Store.Tape(ctx, tape)
	if err != nil {
		return nil, err
	}
	var list []prompt
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{repo.KindMessage}, Roles: []string{"user"}}) {
		if err != nil {
			return nil, err
		}
		// A subagent's prompts are not a person's.
		if e.Hidden() && jsonl.Get(e.Meta, "origin", "fork") != nil {
			continue
		}
		if title := about.Prompt(e); title != "" {
			at, _ := e.Time()
			list = append(list, prompt{e.ID, at, title})
		}
	}
	if f.prompts == nil {
		f.prompts = map[string][]prompt{}
	}
	f.prompts[tape] = list
	return list, nil
}

// title returns the title of a tape; for a fork without one, its parent's.
func (f *Finder) title(ctx context.Context, tape string) (string, error) {
	if title, ok := f.titles[tape]; ok {
		return title, nil
	}
	t, err := f.Store.Tape(ctx, tape)
	if err != nil {
		return "", err
	}
	all, err := f.Index.About(ctx, []*repo.Tape{t})
	if err != nil {
		return "", err
	}
	title := all[t.Branch()].Title
	if title == "" && t.IsFork() {
		title, err = f.title(ctx, t.Parent())
	}
	if f.titles == nil {
		f.titles = map[string]string{}
	}
	f.titles[tape] = title
	return title, err
}

// whileOpen finds the sessions of the project that were open when commits were authored.
func (f *Finder) whileOpen(ctx context.Context, commits []projectgit.Commit, out map[string][]Turn) error {
	if f.Project == "" {
		return nil
	}
	tapes, err := f.ofProject(ctx)
	if err != nil {
		return err
	}
	for _, c := range commits {
		for _, t := range tapes {
			if latest(c).Before(t.Started) || c.Authored.After(t.Updated.Add(openFor)) {
				continue
			}
			open, err := f.isOpen(ctx, t.Name, c)
			if errors.Is(err, repo.ErrNotFound) || err == nil && !open {
				continue // gone since the listing, or in a pause
			}
			if err != nil {
				return err
			}
			prompts, err := f.promptsOf(ctx, t.Name)
			if err != nil {
				return err
			}
			for i, p := range slices.Backward(prompts) {
				if p.date.After(latest(c)) {
					continue
				}
				last := t.Entries
				if i+1 < len(prompts) {
					last = prompts[i+1].id - 1
				}
				for i > 0 && saysLittle(p.title) {
					i--
					p = prompts[i]
				}
				out[c.ID] = append(out[c.ID], Turn{Tape: t.Name, Title: t.Title, First: p.id, Last: last, Prompt: p.title, Date: p.date, How: Open})
				break
			}
		}
		slices.SortStableFunc(out[c.ID], func(a, b Turn) int { return b.Date.Compare(a.Date) })
		if n := len(out[c.ID]); n > maxOpen {
			out[c.ID] = out[c.ID][:maxOpen]
		}
	}
	return nil
}

// isOpen reports whether something was said or done in a session within openFor before a commit. A pause ends a
// session, and that it was resumed says nothing about the time before.
func (f *Finder) isOpen(ctx context.Context, tape string, c projectgit.Commit) (bool, error) {
	t, err := f.Store.Tape(ctx, tape)
	if err != nil {
		return false, err
	}
	q := repo.Query{Since: c.Authored.Add(-openFor), Until: latest(c), Limit: repo.N(1),
		Kinds: []string{repo.KindMessage, repo.KindToolCall, repo.KindToolResult}}
	for _, err := range t.Entries(ctx, q) {
		return err == nil, err
	}
	return false, nil
}

// latest returns the latest time at which a commit was authored: git drops fractions of seconds.
func latest(c projectgit.Commit) time.Time { return c.Authored.Add(time.Second - 1) }

// ofProject returns the tapes of sessions in the project, sorted by name.
func (f *Finder) ofProject(ctx context.Context) (tapes []about.Tape, err error) {
	if f.about == nil {
		if f.about, err = f.About(ctx); err != nil {
			return nil, err
		}
	}
	for branch, t := range f.about {
		own := f.Tapes == nil && strings.HasPrefix(branch, "tape/") || slices.Contains(f.Tapes, t.Name) // not a fork, which belongs to its tape
		if own && t.Entries > 1 && f.within(t.Project) {
			tapes = append(tapes, t)
		}
	}
	slices.SortStableFunc(tapes, func(a, b about.Tape) int { return cmp.Compare(a.Name, b.Name) })
	return tapes, nil
}

// within reports whether a directory is in the project. If dir is "" or not on this machine,
// Home counts instead.
func (f *Finder) within(dir string) bool {
	is, known := f.dirs[dir]
	if known {
		return is
	}
	real, err := filepath.EvalSymlinks(dir)
	if dir == "" || err != nil {
		real = f.Home
	}
	is = real == f.Project || strings.HasPrefix(real, strings.TrimSuffix(f.Project, "/")+"/")
	if f.dirs == nil {
		f.dirs = map[string]bool{}
	}
	f.dirs[dir] = is
	return is
}

// Reason says why no turn is known for a commit.
type Reason int

// The reasons.
const (
	NothingRecorded Reason = iota // no session made it or was open then
	NoSessions                    // there is no tape of the project
	BeforeSessions                // it is older than the first session
)

// Why returns why no turn is known for a commit, and when the first session began; zero if there is none.
func (f *Finder) Why(ctx context.Context, c projectgit.Commit) (Reason, time.Time, error) {
	tapes, err := f.ofProject(ctx)
	if err != nil || len(tapes) == 0 {
		return NoSessions, time.Time{}, err
	}
	first := slices.MinFunc(tapes, func(a, b about.Tape) int { return a.Started.Compare(b.Started) }).Started
	if latest(c).Before(first) {
		return BeforeSessions, first, nil
	}
	return NothingRecorded, first, nil
}

// Entries yields the entries of turns, one turn after the other.
func (f *Finder) Entries(ctx context.Context, turns []Turn) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for _, turn := range turns {
			t, err := f.Store.Tape(ctx, turn.Tape)
			var part *repo.Revision
			if err == nil {
				part, err = f.Store.Revision(ctx, t, fmt.Sprintf("@%d", turn.Last))
			}
			if err != nil {
				yield(repo.Entry{}, err)
				return
			}
			for e, err := range part.Entries(ctx, turn.First) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}
