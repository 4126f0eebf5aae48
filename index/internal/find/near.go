package find

import (
	"tape/internal/text"
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
		terms, err := f.near(word, false)
		if err != nil || len(terms) == 0 {
			return nil, err
		}
		out, changed = out.Replace(word, text.Nearest(terms, 1)[0]), true
	}
	if !changed {
		return nil, nil
	}
	return out, nil
}

// tryNear replaces each word of a query of any words that no entry in scope has by up to three similar ones. It returns
// the query that is answered instead, "" if that is the original one.
func (f *finder) tryNear() (instead string, err error) {
	known := f.s.Among
	if known == nil {
		if known, err = f.survey(); err != nil {
			return "", err
		}
	}
	for _, feature := range f.query.Features() {
		list := known.Near[feature.ID]
		if words := text.Nearest(list, text.Most); len(words) > 0 && known.Found[feature.ID] == 0 {
			f.query = f.query.Instead(feature.ID, words, text.InParts(list))
			instead = f.query.String()
		}
	}
	return instead, nil
}

// near returns the words in scope that are similar to the given one, see [text.Words]. Only entries in scope count, so that
// other entries in the index cannot change the answer.
func (f *finder) near(word string, parts bool) ([]text.Word, error) {
	return text.Words(word, (*words)(f), parts)
}

// words is the words of the index.
type words finder

func (w *words) Begin(prefix string, yield func(string)) error {
	return w.eval.x.Terms([]byte(prefix), func(term []byte) { yield(string(term)) })
}

func (w *words) Count(words []string) ([]int, error) {
	out := make([]int, len(words))
	known, err := w.eval.x.Known(words)
	if err != nil {
		return nil, err
	}
	for i, word := range words {
		if !known[i] { // most: they are what somebody may have meant
			continue
		}
		has, err := w.eval.with(word)
		if err != nil {
			return nil, err
		}
		out[i] = has.count()
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
