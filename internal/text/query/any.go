package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/text"
)

// Feature is something that entries are judged by: a word of a query, or a part of one.
type Feature struct {
	ID     string  // as Match.Terms has it
	Expr   Expr    // selects the entries that may have it
	Factor float64 // of its weight
	Word   int     // of the query, see Query.Asked
	Whole  bool    // it is the whole word, or a word that was tried instead of it
}

// The factors of features. The whole of a word with several terms counts in addition to its terms.
const (
	wholeFactor = 0.5  // a path, or more than two characters of Chinese, in one piece
	partFactor  = 0.5  // a part of an identifier
	nearFactor  = 0.7  // a word that is spelt nearly like the one that was asked for
	halfFactor  = 0.35 // what a word begins or ends with, or a longer word: the two halves of a compound have as much as one near word
)

// maxFeatures bounds the features of a query; the rest is ignored.
const maxFeatures = 128

// feature is a unit that may be in a text.
type feature struct {
	unit
	Feature
	instead bool // it was tried in place of another word
}

// Asked returns the words of a query of any words, as they were typed, without those that do not count.
func (q *Query) Asked() []string { return q.asked }

// Every returns the features of a query of any words, each for every word that it belongs to.
func (q *Query) Every() []Feature {
	out := make([]Feature, len(q.features))
	for i := range q.features {
		out[i] = q.features[i].Feature
	}
	return out
}

// Features returns what entries are judged by: for a query of any words, words and their parts, for others all words
// and phrases that are not excluded.
func (q *Query) Features() []Feature {
	var out []Feature
	for i := range q.features {
		f := q.features[i].Feature
		if n := slices.IndexFunc(out, func(has Feature) bool { return has.ID == f.ID }); n >= 0 {
			out[n].Factor = max(out[n].Factor, f.Factor) // a part that is also a word
			continue
		}
		out = append(out, f)
	}
	if q.asked != nil {
		return out
	}
	for _, units := range q.groups {
		for i := range units {
			u := &units[i]
			if !u.not && !slices.ContainsFunc(out, func(f Feature) bool { return f.ID == u.id }) {
				out = append(out, Feature{ID: u.id, Expr: u.expr, Factor: 1, Whole: true})
			}
		}
	}
	return out
}

// Any returns the query that a text answers if it has any of the words, or some of their parts. It returns nil if the
// query has quotes, operators, excluded words or words with *, and is not a question, or if it has no words: then it means
// what it says. Words that carry nothing, such as "the", do not count unless there are no others.
func (q *Query) Any() *Query {
	if q.options.Exact || q.question == nil && (q.strict || len(q.groups) != 1) {
		return nil
	}
	from := q.question
	if from == nil {
		from = q.groups[0]
	}
	var words, content []unit
	times := strings.Fields(q.options.Time)
	for i := range from {
		typed := from[i : i+1]
		if q.question == nil || !from[i].phrase {
			typed = nil
			for _, w := range splitScripts(trimPunctuation(from[i].raw)) {
				typed = append(typed, unit{raw: w})
			}
		}
		for _, w := range typed {
			words = append(words, w)
			switch {
			case w.phrase:
			case slices.Contains(times, beforeApostrophe(trimPunctuation(w.raw))):
				w.raw = ""
			default:
				w.raw = withoutStops(w.raw)
			}
			if w.raw != "" {
				content = append(content, w)
			}
		}
	}
	if len(content) == 0 {
		content = words
	}
	a := &Query{options: q.options, literal: q.literal, asked: []string{}}
	for _, w := range content {
		a.addWord(w.raw, w.phrase)
	}
	if len(a.features) == 0 {
		return nil
	}
	return a
}

// beforeApostrophe returns yesterday of yesterday's.
func beforeApostrophe(word string) string {
	if at := strings.IndexAny(word, "'’"); at > 0 {
		return word[:at]
	}
	return word
}

// Loose returns the words of a query that means what it says, without its quotes, operators and excluded words, as a query
// of any words; "" if that is one word, or the query is one of any words.
func (q *Query) Loose() string {
	var words []string
	for _, units := range q.groups {
		for i := range units {
			if u := &units[i]; !u.not && u.runs > 0 {
				words = append(words, strings.Fields(strings.ReplaceAll(strings.TrimRight(u.raw, "*"), `"`, " "))...)
			}
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return isOperator(w) || strings.Trim(w, "-") == "" })
	for i := range words {
		words[i] = strings.TrimLeft(words[i], "-")
	}
	if len(words) < 2 || !q.strict {
		return ""
	}
	return strings.Join(words, " ")
}

// Beginning returns the query for words that begin with the only word of a query of any words; "" if it has digits, signs or
// fewer than four letters.
func (q *Query) Beginning() string {
	word := q.asked[0]
	if utf8.RuneCountInString(word) < 4 || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return ""
	}
	return word + "*"
}

// Alone returns the queries that stand for a query of any words that has one word, in the order in which to try them:
// the word itself; an identifier by all of its parts, in any place. The last one is a query of any words again.
func (q *Query) Alone() []*Query {
	u := q.features[0].unit
	out := []*Query{{options: q.options, literal: u.pieces, groups: [][]unit{{u}}, alone: true}}
	if parts, factor := u.parts(); factor != partFactor || len(parts) == 0 {
		return append(out, q)
	}
	all := &Query{options: q.options, literal: u.pieces, groups: [][]unit{{}}, alone: true}
	for _, r := range u.pieces[0].runs {
		for _, s := range r.parts {
			if p, ok := newUnit(string(u.pieces[0].lit[s.Start:s.End]), false, Options{}); ok {
				all.groups[0] = append(all.groups[0], p)
			}
		}
	}
	last := &Query{options: q.options, literal: q.literal, asked: q.asked}
	last.add(u, q.features[0].Feature)
	return append(out, all, last)
}

// IsAny reports whether the query is one of any words, or stands for one, see [Query.Alone].
func (q *Query) IsAny() bool { return q.asked != nil || q.alone }

// Single reports whether a query of any words has one word.
func (q *Query) Single() bool { return len(q.asked) == 1 }

// addWord adds a word, or a phrase in a question, with its parts.
func (q *Query) addWord(raw string, phrase bool) {
	u, ok := newUnit(raw, phrase, Options{})
	if !ok || u.runs == 0 || u.prefix || slices.ContainsFunc(q.features, func(f feature) bool { return f.Whole && f.ID == u.id }) {
		return
	}
	n := len(q.asked)
	if isShortHash(u.id) {
		if hash, ok := newUnit(raw+"*", false, Options{}); ok && hash.prefix {
			q.add(hash, Feature{Factor: 1, Word: n, Whole: true})
			q.asked = append(q.asked, raw)
			return
		}
	}
	parts, factor := u.parts()
	switch {
	case len(parts) == 0 || factor == partFactor:
		q.add(u, Feature{Factor: 1, Word: n, Whole: true})
	default:
		q.add(u, Feature{Factor: wholeFactor, Word: n, Whole: true})
	}
	for _, part := range parts {
		if p, ok := newUnit(part, false, Options{}); ok && p.runs > 0 && !p.prefix {
			q.add(p, Feature{Factor: factor, Word: n})
		}
	}
	q.asked = append(q.asked, raw)
}

// isShortHash reports whether a folded word may be the beginning of a commit's id: seven hexadecimal digits or more, of both
// kinds. It finds what begins with it, and its parts say nothing.
func isShortHash(word string) bool {
	return len(word) >= 7 && len(word) < 64 && strings.Trim(word, "0123456789abcdef") == "" &&
		strings.ContainsAny(word, "0123456789") && strings.ContainsAny(word, "abcdef")
}

func (q *Query) add(u unit, f Feature) {
	if len(q.features) == maxFeatures {
		return
	}
	f.ID, f.Expr = u.id, u.expr
	if !slices.ContainsFunc(q.features, func(has feature) bool { return has.ID == f.ID }) {
		q.groups = append(q.groups, []unit{u})
		if lit := u.pieces[0].lit; u.sure && !u.prefix && u.pieces[0].runs[0].class == text.Lower {
			if q.terms == nil {
				q.terms = map[string]int{}
			}
			q.terms[u.id] = len(q.terms)
			q.lengths[lit[0]] |= lengthBit(len(lit))
		}
	}
	q.features = append(q.features, feature{unit: u, Feature: f})
}

// lengthBit is the bit of a length in bytes. Long words share the last one.
func lengthBit(n int) uint64 { return 1 << min(n, 63) }

// Instead returns the query with words that are tried in place of one that no entry has. inParts says that they are its
// parts, or contain it.
func (q *Query) Instead(id string, words []string, inParts bool) *Query {
	factor := nearFactor
	if inParts {
		factor = halfFactor
	}
	out := &Query{options: q.options, literal: q.literal, asked: q.asked}
	for _, f := range q.features {
		if f.ID != id {
			out.add(f.unit, f.Feature)
			out.features[len(out.features)-1].instead = f.instead
			continue
		}
		for _, w := range words {
			if u, ok := newUnit(w, isOperator(w), Options{}); ok {
				out.add(u, Feature{Factor: f.Factor * factor, Word: f.Word, Whole: f.Whole})
				out.features[len(out.features)-1].instead = true
			}
		}
	}
	return out
}

// Plain reports whether the feature is a word of letters that may be misspelled.
func (q *Query) Plain(id string) bool {
	i := slices.IndexFunc(q.features, func(f feature) bool { return f.ID == id })
	if i < 0 || !q.features[i].plain() || strings.ContainsFunc(id, unicode.IsDigit) {
		return false
	}
	f := &q.features[i]
	return !f.Whole || !slices.ContainsFunc(q.features, func(o feature) bool { return o.Word == f.Word && !o.Whole })
}

// Found says which of the asked words a match has, and which it lacks. Of a word that is there only in part, it has
// the parts.
func (q *Query) Found(m Match) (has, lacks []string) {
	for n, word := range q.asked {
		whole, every, some := false, true, []string(nil)
		parts := 0
		for i := range q.features {
			f := &q.features[i]
			if f.Word != n {
				continue
			}
			found := slices.ContainsFunc(m.Terms, func(t TermCount) bool { return t.Term == f.ID })
			switch {
			case f.Whole && found && f.id != "" && !strings.EqualFold(f.id, word+"*") && !f.sameWord(word):
				whole, word = true, f.raw // tried instead
			case f.Whole:
				whole = whole || found
			default:
				parts++
				if every = every && found; found {
					some = append(some, f.raw)
				}
			}
		}
		switch {
		case whole, parts > 0 && every:
			has = append(has, word)
		case len(some) > 0:
			has = append(has, joinPairs(some)...)
		default:
			lacks = append(lacks, word)
		}
	}
	return has, lacks
}

// sameWord reports whether the feature is this word, not one that was tried instead.
func (f *feature) sameWord(word string) bool {
	u, ok := newUnit(word, false, Options{})
	return ok && u.id == f.id
}

// joinPairs joins pairs of characters of Chinese that overlap, as in 数据 and 据库.
func joinPairs(parts []string) []string {
	var out []string
	for _, p := range parts {
		first, n := utf8.DecodeRuneInString(p)
		if len(out) > 0 && text.IsDense(first) {
			if last := &out[len(out)-1]; strings.HasSuffix(*last, p[:n]) {
				*last += p[n:]
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// parts returns the terms of a word that has several, and the factor of their weight: the words of a phrase, the runs of
// a path, the pairs of characters of Chinese, the words of an identifier. Of a word with a sign, such as --watch and .env,
// they are the word without it.
func (u *unit) parts() (parts []string, factor float64) {
	factor = 1
	for k := range u.pieces {
		p := &u.pieces[k]
		for i := range p.runs {
			r := &p.runs[i]
			lit := string(p.lit[r.Start:r.End])
			switch {
			case r.class == text.Dense && utf8.RuneCountInString(lit) > 2:
				parts = append(parts, pairs(lit)...)
			case u.runs > 1 || 1 < len(lit) && len(lit) < len(p.lit) && r.class == text.Lower:
				parts = append(parts, lit)
			default:
				factor = partFactor
				for _, s := range r.parts {
					parts = append(parts, string(p.lit[s.Start:s.End]))
				}
			}
		}
	}
	seen := map[string]bool{}
	parts = slices.DeleteFunc(parts, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
	// Single letters and words that carry nothing count only if there is nothing else. So do numbers in identifiers.
	content := slices.DeleteFunc(slices.Clone(parts), func(s string) bool {
		return isStop(s) || len(s) == 1 && text.ASCII(s[0]) >= text.Lower || factor == partFactor && strings.Trim(s, "0123456789") == ""
	})
	if len(content) > 0 {
		parts = content
	}
	return parts, factor
}

// pairs returns each two neighbours of a run of a dense script, without those at words that carry nothing.
func pairs(run string) (out []string) {
	for _, piece := range splitStops(run) {
		runes := []rune(piece)
		for i := 0; i+1 < len(runes); i++ {
			out = append(out, string(runes[i:i+2]))
		}
	}
	return out
}

// splitScripts cuts a word where Chinese and the like meet other scripts.
func splitScripts(word string) []string {
	var out []string
	start, dense, known := 0, false, false
	for i, r := range word {
		if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
			continue
		}
		if d := text.IsDense(r); !known || d != dense {
			if known {
				out = append(out, trimPunctuation(word[start:i]))
				start = i
			}
			dense, known = d, true
		}
	}
	return append(out, trimPunctuation(word[start:]))
}
