// Package find answers searches: for words with the index, for exact text and regular expressions in the
// files.
package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	stored "tape/internal/store/query"
	"tape/internal/store/relevance"
	"tape/internal/store/workspace"
	"time"

	"tape/internal/text"
	"tape/internal/text/query"
	"tape/repo"
)

// How says how to read the text of a Search.
type How int

// The ways to read the text of a Search.
const (
	Words     How = iota // the query language
	Substring            // exactly these characters
	Regexp               // an RE2 regular expression
)

// StoredLimit is how long the JSON line of an entry may be for a hit with Search.Stored, in bytes.
const StoredLimit = 64 << 10

// Search is a query that contains only names and values, so that another process can answer it.
type Search struct {
	Text string
	How  How
	// IgnoreCase is for Substring and Regexp; words have no case.
	IgnoreCase bool
	// Exact matches all words, as they are spelt, punctuation included. Like AsSpelt, it does not try similar
	// words if there is no hit.
	Exact, AsSpelt bool
	// AllWords finds only entries that have all words. Otherwise a query without quotes, operators and the like
	// finds those that have any, or similar words for one that no entry has, or parts of one.
	AllWords bool

	// Tapes are the names of the tapes to search; nil means all tapes and open forks. A fork includes its
	// parent's entries up to its base. With several tapes, no entry comes twice: it belongs to the tape that
	// it was written to, if that is searched, otherwise to one of the forks.
	// Query applies to each tape, except its Limit, which is the number of hits in all.
	Tapes []string
	Query repo.Query

	// Own leaves the texts of artifacts out of a search for Words.
	Own bool
	// Types, if not empty, restricts the search to these kinds of entries and names of events.
	Types []string

	// Stored is for Words: it returns entries as they are stored, not as they are seen. Entries over StoredLimit
	// have only ID and Tape, to limit memory.
	Stored bool

	// Newest orders by age instead of relevance, as searches that are not for Words always do.
	Newest bool
	// Flat orders the hits of a search for Words by themselves. Otherwise the hits of a session are together, with
	// those of its forks and subagents, and sessions are in the order of the weighted sum of their three best hits.
	Flat bool
	// PerSession, if not 0, is how many hits of a session are returned at most, unless only one session is searched.
	PerSession int
	// NoFold returns each entry as a hit; otherwise entries that say nearly the same are one hit.
	NoFold bool
	// Searches includes the entries that search tools wrote (meta.search).
	Searches bool
	// Context is how many entries before and after each hit to return.
	Context int
	// Width is the approximate length of snippets, in characters; 0 is the default.
	Width int
	// Brief is for one of several searches whose hits are merged: fewer entries are judged and read.
	Brief bool
	// Survey asks only for Result.Survey. The sum of the surveys of several searches, as Among, makes each of them weigh
	// words as one search of all entries would.
	Survey bool
	Among  *Survey
	// Count asks only for the exact number of matches, whatever it costs.
	Count bool
}

// Hit is an entry that matches.
type Hit struct {
	repo.Entry
	Score   float64
	Snippet string   // the match with its surroundings, on one line
	Spans   [][2]int // the matches in the snippet: first byte, end
	Similar int      // how many more of the judged entries say nearly the same

	// Of a search for Words: the session that the entry belongs to, its rank, and how many of its hits are left out
	// because of PerSession or the limit, if this is the last one shown.
	Session string
	Rank    float64
	More    int
	// Has and Lacks are the words of a query of any words that the entry has, and those that it lacks.
	Has, Lacks []string

	Before, After []repo.Entry // see Search.Context
}

// Result is what a search found.
type Result struct {
	Hits []Hit
	// Matches is how many entries match; if not Exact, there may be more.
	Matches int
	Exact   bool
	// Some says that a query of any words was answered, and that no entry has all of its words.
	Some bool
	// Survey is what Search.Survey asks for.
	Survey *Survey
	// Instead is the query that was answered because no entry has some word of the original query; "" if that was
	// answered.
	Instead string
}

// Check returns ErrInvalid if the limit or Context is negative.
func (s Search) Check() error {
	if l := s.Query.Limit; l != nil && *l < 0 {
		return fmt.Errorf("%w: a limit must not be negative", repo.ErrInvalid)
	}
	if s.Context < 0 {
		return fmt.Errorf("%w: a number of neighbours must not be negative", repo.ErrInvalid)
	}
	return nil
}

// AnyWords reports whether the search is for entries that have any of several words.
func (s Search) AnyWords() bool {
	if s.How != Words || s.Exact || s.AllWords {
		return false
	}
	q := relevance.Parse(s.Text, false).Any()
	return q != nil && !q.Single()
}

// Time returns the time that the search names among words of which an entry may have any, from its beginning until before
// the next day, week, month or year, and the words that name it: "" if there is none. What was said then ranks higher.
func (s Search) Time(now time.Time) (from, before time.Time, named string) {
	if s.How == Words && !s.Exact && !s.AllWords && !s.Newest && query.Parse(s.Text, query.Options{}).Any() != nil {
		return layout.TimeIn(s.Text, now)
	}
	return from, before, ""
}

// Wider returns the text of a search that finds more, for one without hits, and how its entries differ: they have any of
// the same words if this search wants more than that, or words that begin with its only word. Both are "" if there is none.
func (s Search) Wider() (words, how string) {
	if s.How != Words {
		return "", ""
	}
	const any = "entries with any of the words"
	q := query.Parse(s.Text, query.Options{})
	if of := q.Any(); of == nil {
		words = q.Loose()
	} else if !of.Single() {
		if s.AllWords || s.Exact {
			words = s.Text
		}
	} else if words = of.Beginning(); words != "" {
		return words, "entries with words that begin like this"
	}
	if words == "" {
		return "", ""
	}
	return words, any
}

func (s Search) limit() int {
	if s.Query.Limit == nil {
		return math.MaxInt
	}
	return *s.Query.Limit
}

// selection is a tape that has the query's anchors, with the entries that they select.
type selection struct {
	*repo.Tape
	first, last int64
}

// selectIn resolves the query's anchors. Tapes without them are left out; ErrNotFound if all lack them.
func (s Search) selectIn(ctx context.Context, tapes []*repo.Tape) ([]selection, error) {
	var out []selection
	var missing error
	for _, t := range tapes {
		first, last, err := stored.Range(ctx, (*workspace.Tape)(t), s.Query)
		switch {
		case errors.Is(err, repo.ErrNotFound):
			missing = err
		case err != nil:
			return nil, err
		default:
			out = append(out, selection{t, first, last})
		}
	}
	if len(out) == 0 {
		return nil, missing
	}
	return out, nil
}

const snippetWidth = 160

func newHit(e repo.Entry, body []byte, spans []text.Span, width int) Hit {
	h := Hit{Entry: e}
	var shown []text.Span
	h.Snippet, shown = text.Snippet(body, spans, cmp.Or(width, snippetWidth))
	for _, s := range shown {
		h.Spans = append(h.Spans, [2]int{s.Start, s.End})
	}
	return h
}

// surround adds the entries around each hit; entry reads one, if it exists.
func surround(hits []Hit, n int, entry func(tape string, id int64) (repo.Entry, bool, error)) error {
	for i := range hits {
		h := &hits[i]
		for id := max(1, h.ID-int64(n)); id <= h.ID+int64(n); id++ {
			if id == h.ID {
				continue
			}
			e, ok, err := entry(h.Tape, id)
			if err != nil {
				return err
			}
			e.Tape = h.Tape
			switch {
			case !ok: // after the last one
			case id < h.ID:
				h.Before = append(h.Before, e)
			default:
				h.After = append(h.After, e)
			}
		}
	}
	return nil
}

// readers caches a reader for each tape, by branch.
type readers map[string]*stored.Reader

// get returns the reader of a tape; commit is the tape's commit if it is known, else zero.
func (r readers) get(ctx context.Context, t *repo.Tape, commit gitstore.Hash) (one *stored.Reader, err error) {
	if one := r[t.Branch()]; one != nil {
		return one, nil
	}
	if !commit.IsZero() {
		one, err = stored.ReaderAt((*workspace.Tape)(t), commit)
	} else {
		one, err = stored.NewReader(ctx, (*workspace.Tape)(t))
	}
	if err == nil {
		r[t.Branch()] = one
	}
	return one, err
}

func (r readers) close() {
	for _, one := range r {
		_ = one.Close()
	}
}
