// Package find answers searches: for words through the index, for exact text and regular
// expressions through the files.
package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"unicode"

	"tape/internal/text"
	"tape/repo"
)

// How says how the text of a Search is to be understood.
type How int

// The ways to understand it.
const (
	Words     How = iota // the query language
	Substring            // exactly these characters
	Regexp               // an RE2 regular expression
)

// StoredLimit is how long the JSON line of an entry is that a hit has with Search.Stored, in bytes.
const StoredLimit = 64 << 10

// Search says what to look for, by names and values alone: whoever has the tapes can answer it.
type Search struct {
	Text string
	How  How
	// IgnoreCase is for Substring and Regexp; words have no case.
	IgnoreCase bool
	// Exact takes words as they are spelt, punctuation included. Like AsSpelt it looks for
	// no near ones where there is no hit.
	Exact, AsSpelt bool

	// Tapes are searched, by their names, each by Query's anchors, dates, kinds and roles. The limit counts
	// hits. A fork has its parent's entries up to its base. With several tapes, those are
	// left to the tape that they were written to, if that is one of them, and otherwise to
	// one of the forks: no entry comes twice. Nil stands for all tapes and open forks.
	Tapes []string
	Query repo.Query

	// Own looks at what entries say, and not at the texts of their artifacts.
	Own bool
	// Types, if there are any, are kinds of entries and names of events: others are left out.
	Types []string

	// Stored gives entries in hits as they are stored, not as they are seen. Those of more than
	// StoredLimit bytes have ID and Tape alone, so that hits never take much memory.
	Stored bool

	// Newest orders by age instead of relevance.
	Newest bool
	// NoFold shows entries one by one that say nearly the same.
	NoFold bool
	// Searches includes what search tools wrote (meta.search).
	Searches bool
	// Context is how many entries before and after each hit come with it.
	Context int
	// Width is about how many characters a snippet has; 0 is the default.
	Width int
	// Count asks for the exact number of matches, whatever it costs.
	Count bool
}

// Hit is an entry that matches.
type Hit struct {
	repo.Entry
	Score   float64
	Snippet string   // the match and what is around it, on one line
	Spans   [][2]int // where in the snippet what was looked for is: bytes, from and to
	Similar int      // how many more entries say nearly the same, of those that were looked at

	Before, After []repo.Entry // see Search.Context
}

// Result is what a search found.
type Result struct {
	Hits []Hit
	// Matches is how many entries match. It is a lower bound unless Exact.
	Matches int
	Exact   bool
	// Instead is the query that was answered instead of one that nothing matched.
	Instead string
}

// Check reports what is wrong with a search.
func (s Search) Check() error {
	if l := s.Query.Limit; l != nil && *l < 0 {
		return fmt.Errorf("%w: a limit must not be negative", repo.ErrInvalid)
	}
	if s.Context < 0 {
		return fmt.Errorf("%w: a number of neighbours must not be negative", repo.ErrInvalid)
	}
	return nil
}

// looksAtDigits reports whether entries that differ only in digits are different answers.
func (s Search) looksAtDigits() bool {
	return strings.ContainsFunc(s.Text, func(r rune) bool { return unicode.IsDigit(r) || r == '*' })
}

func (s Search) limit() int {
	if s.Query.Limit == nil {
		return math.MaxInt
	}
	return *s.Query.Limit
}

// reached is a tape that has the query's anchors, and the entries that these select.
type reached struct {
	*repo.Tape
	first, last int64
}

// reached resolves the query's anchors; tapes without them are left out, unless all are.
func (s Search) reached(ctx context.Context, tapes []*repo.Tape) ([]reached, error) {
	var out []reached
	var missing error
	for _, t := range tapes {
		first, last, err := query.Range(ctx, (*workspace.Tape)(t), s.Query)
		switch {
		case errors.Is(err, repo.ErrNotFound):
			missing = err
		case err != nil:
			return nil, err
		default:
			out = append(out, reached{t, first, last})
		}
	}
	if len(out) == 0 {
		return nil, missing
	}
	return out, nil
}

// signature is what entries that are folded into one have in common.
type signature struct {
	sign int64
	kind string
	tape int // its rank
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

// surround adds what is before and after each hit; entry reads one, if it is there.
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
			case !ok: // behind the last one
			case id < h.ID:
				h.Before = append(h.Before, e)
			default:
				h.After = append(h.After, e)
			}
		}
	}
	return nil
}

// readers keeps a reader of each tape, by its branch.
type readers map[string]*query.Reader

// of is the reader of a tape; commit is what the tape is known to be, or zero.
func (r readers) of(ctx context.Context, t *repo.Tape, commit gitstore.Hash) (one *query.Reader, err error) {
	if one := r[t.Branch()]; one != nil {
		return one, nil
	}
	if !commit.IsZero() {
		one, err = query.ReaderAt((*workspace.Tape)(t), commit)
	} else {
		one, err = query.NewReader(ctx, (*workspace.Tape)(t))
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
