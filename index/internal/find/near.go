package find

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/text/near"
	"tape/internal/text/query"
)

// nearQuery returns the query with each word that no entry in scope contains replaced by a similar word that
// some entry contains. It returns nil if every word is in an entry, or if one has no similar word.
func (f *finder) nearQuery() (*query.Query, error) {
	out := f.query
	changed := false
	for _, word := range f.query.Words() {
		if ok, err := f.inScope(word); err != nil {
			return nil, err
		} else if ok {
			continue
		}
		near, err := f.near(word, 1)
		if err != nil || len(near) == 0 {
			return nil, err
		}
		out, changed = out.Replace(word, near[0]), true
	}
	if !changed {
		return nil, nil
	}
	return out, nil
}

// tryNear replaces each word of a query of any words that no entry in scope has by up to three similar ones. It returns
// the query that is answered instead, "" if that is the original one.
func (f *finder) tryNear() (instead string, err error) {
	const most = 3
	for _, feature := range f.query.Features() {
		if !f.query.Plain(feature.ID) {
			continue
		}
		docs, err := f.eval.featured(feature)
		if err != nil {
			return "", err
		}
		if docs.n > 0 {
			continue
		}
		near, err := f.near(feature.ID, most)
		if err != nil {
			return "", err
		}
		if len(near) > 0 {
			f.query = f.query.Instead(feature.ID, near)
			instead = f.query.String()
		}
	}
	return instead, nil
}

type nearTerm struct {
	term           string
	slips, entries int
}

// near returns the words in scope that are most similar to the given one, at most so many: those with the fewest
// slips, of these the most frequent. The first letters are usually right, so words with the same first two letters are
// tried first, then words with the same first letter, then single slips in the first letter. Words with digits are
// not replaced.
func (f *finder) near(word string, most int) ([]string, error) {
	letters := []rune(word)
	slips := near.Slips(len(letters))
	if slips == 0 || strings.ContainsFunc(word, unicode.IsDigit) {
		return nil, nil
	}
	for _, same := range []int{2, 1} {
		terms, err := f.nearAmong(letters, same, slips)
		if err == nil && len(terms) > 0 {
			return f.mostFrequent(terms, most)
		}
		if err != nil {
			return nil, err
		}
	}
	var terms []nearTerm
	for _, term := range near.AtFirst(letters) {
		terms = append(terms, nearTerm{term: term})
	}
	return f.mostFrequent(terms, most)
}

// nearAmong returns the words in the index that are near and have the same first letters; same is the number of these
// letters.
func (f *finder) nearAmong(letters []rune, same, slips int) ([]nearTerm, error) {
	var found []nearTerm
	err := f.eval.x.Terms([]byte(string(letters[:same])), func(term []byte) {
		if n := utf8.RuneCount(term); n < len(letters)-near.MostEnding || n > len(letters)+near.MostEnding {
			return
		}
		if n := near.Distance(letters, []rune(string(term)), slips); n <= slips {
			found = append(found, nearTerm{term: string(term), slips: n})
		} else if near.SameStem(string(letters), string(term)) {
			found = append(found, nearTerm{term: string(term), slips: slips})
		}
	})
	// Only entries in scope count, so that other entries in the index cannot change the answer.
	out := found[:0]
	for _, n := range found {
		if ok, err := f.inScope(n.term); err != nil {
			return nil, err
		} else if ok && !slices.Contains(out, n) { // a term may be in several segments
			out = append(out, n)
		}
	}
	return out, err
}

// mostFrequent returns the words with the fewest slips, of these the most frequent.
func (f *finder) mostFrequent(terms []nearTerm, most int) (out []string, err error) {
	for i := range terms {
		has, err := f.eval.with(terms[i].term)
		if err != nil {
			return nil, err
		}
		terms[i].entries = has.count()
	}
	slices.SortFunc(terms, func(a, b nearTerm) int {
		return cmp.Or(cmp.Compare(a.slips, b.slips), cmp.Compare(b.entries, a.entries), cmp.Compare(a.term, b.term))
	})
	for _, n := range terms {
		if len(out) < most && n.entries > 0 {
			out = append(out, n.term)
		}
	}
	return out, nil
}

func (f *finder) inScope(term string) (bool, error) {
	if ts := f.eval.terms[term]; ts != nil { // a word of the query
		return ts.n > 0, nil
	}
	has, err := f.eval.with(term)
	return has.count() > 0, err
}
