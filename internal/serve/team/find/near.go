package find

import (
	"context"
	"slices"

	"tape/internal/serve/team/db"
	"tape/internal/store/relevance"
	"tape/internal/text"
)

// tryNear replaces each word of a query of any words that no entry has by similar ones. It returns the query that is
// answered instead, "" if that is the original one.
func (f *finder) tryNear(ctx context.Context) (instead string, err error) {
	var all []string
	for _, feature := range f.query.Features() {
		if words, none := tsquery(feature.Expr); !none {
			all = append(all, words)
		}
	}
	if err = f.count(ctx, all); err != nil {
		return "", err
	}
	from, parts := &words{ctx, f}, !f.query.Single()
	for _, feature := range f.query.Features() {
		if !f.query.Plain(feature.ID) {
			continue
		}
		list, err := f.similar(from, feature.ID, parts)
		if err != nil {
			return "", err
		}
		if words := text.Nearest(list, text.Most); len(words) > 0 {
			f.query = f.query.Instead(feature.ID, words, text.InParts(list))
			instead = f.query.String()
		}
	}
	return instead, nil
}

// similar returns words that are similar to one that no entry has.
func (f *finder) similar(from *words, word string, parts bool) ([]text.Word, error) {
	has, err := f.searched(from.ctx, word)
	if err != nil || has > 0 {
		return nil, err
	}
	return text.Words(word, from, parts)
}

// searched returns how many of the searched entries have a word. Of a few sessions, it does not count more than it needs
// to compare words.
func (f *finder) searched(ctx context.Context, word string) (int, error) {
	const most = 100
	if f.tapes == nil {
		err := f.count(ctx, []string{quoted(word)})
		return f.counts[quoted(word)], err
	}
	list, err := f.rows.Find(ctx, db.Question{Words: quoted(word), Tapes: f.tapes, Most: most})
	return len(list), err
}

// strictly answers a query that means what it says. If no entry matches, it tries similar words.
func (f *finder) strictly(ctx context.Context) (*Result, error) {
	res, err := f.answer(ctx)
	if err != nil || len(res.Hits) > 0 || f.s.Exact || f.s.AsSpelt {
		return res, err
	}
	instead, from := f.query, &words{ctx, f}
	for _, word := range f.query.Words() {
		if has, err := f.searched(ctx, word); err != nil {
			return nil, err
		} else if has > 0 {
			continue
		}
		list, err := f.similar(from, word, false)
		if err != nil || len(list) == 0 {
			return res, err
		}
		instead = instead.Replace(word, text.Nearest(list, 1)[0])
	}
	if instead == f.query {
		return res, nil
	}
	f.query = instead
	if res, err = f.answer(ctx); err == nil && len(res.Hits) > 0 {
		res.Instead = instead.String()
	}
	return res, err
}

// lacksAll reports whether no entry has all words of a query of any words.
func (f *finder) lacksAll(ctx context.Context) (bool, error) {
	if len(f.query.Asked()) == 0 {
		return false, nil // one word, that was found
	}
	whole, parts := make([][]string, len(f.query.Asked())), make([][]string, len(f.query.Asked()))
	for _, feature := range f.query.Every() {
		list := parts
		if feature.Whole {
			list = whole
		}
		words, none := tsquery(feature.Expr)
		if none {
			words = quoted(relevance.Mark) // no entry has it
		}
		list[feature.Word] = append(list[feature.Word], words)
	}
	all := slices.Clone(f.filter)
	for i := range whole {
		if len(parts[i]) > 0 {
			whole[i] = append(whole[i], and(parts[i]...))
		}
		all = append(all, or(whole[i]...))
	}
	if has, known := f.has[together(all)]; known {
		return !has, nil
	}
	if f.tapes == nil && f.s.Query.Since.IsZero() && f.s.Query.Until.IsZero() {
		list, err := f.rows.Count(ctx, f.totals.Months, []string{and(all...)}, 1)
		return len(list) == 0 || list[0].Found == 0, err
	}
	list, err := f.rows.Find(ctx, db.Question{Words: and(all...), Tapes: f.tapes, Since: f.s.Query.Since, Until: f.s.Query.Until, Most: 1})
	return len(list) == 0, err
}

// words is the words that one user sees.
type words struct {
	ctx context.Context
	*finder
}

func (w *words) Begin(prefix string, yield func(string)) error {
	return w.rows.WordsFrom(w.ctx, prefix, yield)
}

func (w *words) Count(words []string) ([]int, error) {
	known, err := w.rows.KnownWords(w.ctx, words)
	if err != nil {
		return nil, err
	}
	if w.tapes == nil {
		var all []string
		for _, word := range known {
			all = append(all, quoted(word))
		}
		if err := w.count(w.ctx, all); err != nil {
			return nil, err
		}
	}
	out := make([]int, len(words))
	for _, word := range known {
		found, err := w.searched(w.ctx, word)
		if err != nil {
			return nil, err
		}
		out[slices.Index(words, word)] = found
	}
	return out, nil
}
