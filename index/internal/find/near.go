package find

import (
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
		terms, err := f.near(word)
		if err != nil || len(terms) == 0 {
			return nil, err
		}
		out, changed = out.Replace(word, nearest(terms, 1)[0]), true
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
	known := f.s.Among
	if known == nil {
		if known, err = f.survey(); err != nil {
			return "", err
		}
	}
	for _, feature := range f.query.Features() {
		if near := nearest(known.Near[feature.ID], most); len(near) > 0 && known.Found[feature.ID] == 0 {
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

// near returns the words in scope that are similar to the given one. The first letters are usually right, so words with
// the same first two letters are tried first, then words with the same first letter, then single slips in the first
// letter. Words with digits are not replaced.
func (f *finder) near(word string) (terms []nearTerm, err error) {
	letters := []rune(word)
	slips := near.Slips(len(letters))
	if slips == 0 || strings.ContainsFunc(word, unicode.IsDigit) {
		return nil, nil
	}
	for _, same := range []int{2, 1} {
		if terms, err = f.nearAmong(letters, same, slips); err != nil || len(terms) > 0 {
			return terms, err
		}
	}
	for _, term := range near.AtFirst(letters) {
		has, err := f.eval.with(term)
		if err != nil {
			return nil, err
		}
		if n := has.count(); n > 0 {
			terms = append(terms, nearTerm{term, 1, n})
		}
	}
	return terms, nil
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
	if err != nil {
		return nil, err
	}
	// Only entries in scope count, so that other entries in the index cannot change the answer.
	out := found[:0]
	for _, n := range found {
		has, err := f.eval.with(n.term)
		if err != nil {
			return nil, err
		}
		if n.entries = has.count(); n.entries > 0 && !slices.Contains(out, n) { // a term may be in several segments
			out = append(out, n)
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
