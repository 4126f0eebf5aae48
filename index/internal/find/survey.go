package find

import (
	"slices"

	"tape/internal/store/relevance"
	"tape/internal/text"
)

// Survey is what the words of a search are worth among the entries that it searches.
type Survey struct {
	Corpus relevance.Corpus
	Bytes  float64                // of all entries
	Found  map[string]int         // how many entries have a word, or a part of one
	Near   map[string][]text.Word // words that are similar to one that no entry has
}

// Add adds another survey, of other entries.
func (s *Survey) Add(o *Survey) {
	s.Corpus.Newest = max(s.Corpus.Newest, o.Corpus.Newest)
	s.Corpus.Entries += o.Corpus.Entries
	s.Corpus.Even = s.Corpus.Even || o.Corpus.Even
	s.Bytes += o.Bytes
	s.Corpus.Average = max(1, s.Bytes/max(1, s.Corpus.Entries))
	if s.Found == nil {
		s.Found, s.Near = map[string]int{}, map[string][]text.Word{}
	}
	for id, n := range o.Found {
		s.Found[id] += n
	}
	for id, list := range o.Near {
		for _, n := range list {
			at := slices.IndexFunc(s.Near[id], func(has text.Word) bool { return has.Word == n.Word })
			if at < 0 {
				s.Near[id] = append(s.Near[id], n)
				continue
			}
			s.Near[id][at].Entries += n.Entries
		}
	}
}

// survey surveys the words of the query.
func (f *finder) survey() (*Survey, error) {
	s := &Survey{Corpus: f.corpus(), Found: map[string]int{}, Near: map[string][]text.Word{}}
	for _, t := range f.eval.tapes {
		s.Bytes += float64(t.bytes)
	}
	for _, feature := range f.query.Features() {
		docs, err := f.eval.featured(feature)
		if err != nil {
			return nil, err
		}
		if s.Found[feature.ID] = docs.n; docs.n > 0 || !f.query.Plain(feature.ID) || f.s.AsSpelt {
			continue
		}
		if s.Near[feature.ID], err = f.near(feature.ID, !f.query.Single()); err != nil {
			return nil, err
		}
	}
	return s, nil
}
