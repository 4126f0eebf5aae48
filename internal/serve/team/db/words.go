package db

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"tape/internal/store/relevance"
)

// mostWord is the length of the longest word in the table of words, in bytes. Nobody misspells longer ones.
const mostWord = 64

// isWord reports whether a term of an entry is in the table of words.
func isWord(term string) bool {
	return utf8.RuneCountInString(term) > 1 && len(term) <= mostWord && !strings.HasPrefix(term, relevance.Mark) && !strings.ContainsFunc(term, unicode.IsDigit)
}

// keepWords adds the new words of a change to the table of words, and removes those that no entry has any more.
func (c *Change) keepWords(ctx context.Context) error {
	if len(c.words) > 0 {
		// In one order, so that no two transactions wait for each other.
		_, err := c.tx.Exec(ctx, `INSERT INTO words (remote, word) SELECT $1, w FROM unnest($2::text[]) w ON CONFLICT DO NOTHING`, c.w.remote, slices.Sorted(maps.Keys(c.words)))
		if err != nil {
			return err
		}
	}
	var gone []string
	for word, is := range c.gone {
		if is && !c.words[word] {
			gone = append(gone, word)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	asked := make([]string, len(gone)) // as tsquery writes them
	for i, word := range gone {
		asked[i] = "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(word) + "'"
	}
	_, err := c.tx.Exec(ctx, `DELETE FROM words USING unnest($2::text[], $3::text[]) g(gone, asked)
		WHERE remote = $1 AND word = gone AND (SELECT hits FROM tape_count(asked, 1)) = 0`, c.w.remote, gone, asked)
	return err
}

// WordsFrom yields the words of the view's entries that begin with a prefix.
func (v *View) WordsFrom(ctx context.Context, prefix string, yield func(word string)) error {
	return v.ask(ctx, `SELECT DISTINCT word FROM words WHERE remote = ANY ($1) AND word >= $2 AND word < $3`, func(r pgx.Rows) error {
		var word string
		err := r.Scan(&word)
		yield(word)
		return err
	}, prefix, prefix+string(unicode.MaxRune))
}

// KnownWords returns those of the words that the view's entries may have. They are looked up one by one: PostgreSQL may read
// all words of the remotes for a list.
func (v *View) KnownWords(ctx context.Context, words []string) (out []string, err error) {
	err = v.ask(ctx, `SELECT w FROM unnest($2::text[]) w CROSS JOIN LATERAL (SELECT FROM words WHERE remote = ANY ($1) AND word = w LIMIT 1) x`, into(&out), words)
	return out, err
}
