package secrets

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"tape/internal/text/jsonl"
)

// walker scans one value. It is reused for the next one.
type walker struct {
	s       *Scanner
	path    []step
	spots   []spot
	hits    []hit
	words   int      // how many words for secrets were found
	named   int      // end of the last name that was checked
	command int      // end of the last curl command
	decoded [][]byte // buffers for decoded strings, by level of JSON in strings
	tooMany int      // the number of secrets at which it gives up; 0: never
	over    bool     // it gave up
	depth   int      // levels of base64 around the text
}

// step is a key of an object or, if key is nil, an index into an array.
type step struct {
	key   []byte // between its quotes
	index int
}

// hit is a secret in a text.
type hit struct {
	from, to    int
	rule        string
	contextual  bool   // found by the text around it: hits with a shape take precedence
	fingerprint string // "": to be computed
}

// spot is a secret in the bytes of a value.
type spot struct {
	from, to   int
	secret     string // decoded
	contextual bool   // as of hit
	Finding
}

const (
	shortest  = 6 // bytes of the shortest string that is scanned
	maxNested = 4 // levels of JSON in strings that are scanned
)

func (w *walker) release() {
	clear(w.spots)
	clear(w.path[:cap(w.path)])
	w.path, w.spots = w.path[:0], w.spots[:0]
	w.tooMany, w.over, w.depth = 0, false, 0
	w.s.pool.Put(w)
}

func (w *walker) distinct() []Finding {
	if len(w.spots) == 0 {
		return nil
	}
	all := make([]Finding, len(w.spots))
	for i, s := range w.spots {
		all[i] = s.Finding
	}
	return distinct(all)
}

// masked returns the value with its secrets replaced, and what was replaced.
func (w *walker) masked(value []byte, skip func(Finding) bool, mark func(Finding) string) ([]byte, []spot) {
	var out []byte
	var found []spot
	done := 0
	for _, s := range w.spots {
		if s.from < done || skip != nil && skip(s.Finding) {
			continue
		}
		out = append(append(out, value[done:s.from]...), mark(s.Finding)...)
		done = s.to
		found = append(found, s)
	}
	return append(out, value[done:]...), found
}

// value scans the valid JSON value at i and returns the position after it. assigned is its
// key, if it has one; level counts the strings around it.
func (w *walker) value(b []byte, i int, assigned []byte, level int) int {
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		end, escaped := jsonl.StringEnd(b, i+1)
		w.str(b, i+1, end-1, escaped, assigned, level)
		return end
	case '{':
		return jsonl.Items(b, i, func(key, keyEnd, at int) int { return w.member(b, key, keyEnd, at, level) })
	case '[':
		w.path = append(w.path, step{})
		end := jsonl.Items(b, i, func(_, _, at int) int {
			end := w.value(b, at, assigned, level)
			w.path[len(w.path)-1].index++
			return end
		})
		w.path = w.path[:len(w.path)-1]
		return end
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

func (w *walker) member(b []byte, from, to, at, level int) (end int) {
	key := b[from:to]
	w.path = append(w.path, step{key: key})
	words := w.words
	w.str(b, from, to, bytes.IndexByte(key, '\\') >= 0, nil, level)
	assigned := key
	if w.words == words && (len(key) >= shortest || classify(key) == nothing) {
		assigned = nil
	}
	end = w.value(b, at, assigned, level)
	w.path = w.path[:len(w.path)-1]
	return end
}

// str scans the string whose inside is b[from:to].
func (w *walker) str(b []byte, from, to int, escaped bool, assigned []byte, level int) {
	if to-from < shortest {
		return
	}
	body := b[from:to]
	text := body
	if escaped {
		for len(w.decoded) <= level {
			w.decoded = append(w.decoded, nil)
		}
		w.decoded[level] = jsonl.AppendDecoded(w.decoded[level][:0], body)
		text = w.decoded[level]
	}
	first := len(w.spots)
	if level < maxNested && isContainer(text) && jsonl.Valid(text) == nil {
		w.value(text, 0, assigned, level+1)
	} else {
		w.text(text, assigned)
	}
	if escaped {
		toRaw(body, w.spots[first:])
	}
	for i := range w.spots[first:] {
		s := &w.spots[first+i]
		s.from, s.to = s.from+from, s.to+from
	}
}

// toRaw converts places in a decoded text to places in the JSON string, in one pass: a long text may
// have very many.
func toRaw(body []byte, spots []spot) {
	places := make([]*int, 0, 2*len(spots))
	for i := range spots {
		places = append(places, &spots[i].from, &spots[i].to)
	}
	slices.SortFunc(places, func(a, b *int) int { return *a - *b })
	at, decoded := 0, 0
	for _, p := range places {
		var more int
		at, more = rawOffset(body, at, *p-decoded)
		decoded, *p = decoded+more, at
	}
}

// isContainer reports whether a text looks like a JSON object or array that contains a string.
func isContainer(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) < len(`[""]`) || bytes.IndexByte(text, '"') < 0 {
		return false
	}
	first, last := text[0], text[len(text)-1]
	return first == '{' && last == '}' || first == '[' && last == ']'
}

// rawOffset returns the place of the n-th decoded byte after at in a JSON string, and the number of bytes
// decoded up to there. That is more than n if the n-th byte is inside an escaped character.
func rawOffset(body []byte, at, n int) (end, decoded int) {
	var unit [12]byte
	for decoded < n && at < len(body) {
		i := bytes.IndexByte(body[at:min(at+n-decoded, len(body))], '\\')
		if i < 0 {
			return at + n - decoded, n
		}
		at, decoded = at+i, decoded+i
		size := 2
		if len(body)-at >= 6 && body[at+1] == 'u' {
			size = 6
			if len(body)-at >= 12 {
				// Two escapes can be one character.
				if r, _ := utf8.DecodeRune(jsonl.AppendDecoded(unit[:0], body[at:at+12])); r > 0xffff {
					size = 12
				}
			}
		}
		decoded += len(jsonl.AppendDecoded(unit[:0], body[at:min(at+size, len(body))]))
		at += size
	}
	return min(at, len(body)), decoded
}

// text scans one decoded text. Its spots have places in that text.
func (w *walker) text(text, assigned []byte) {
	w.hits, w.named, w.command = w.hits[:0], 0, 0
	if w.over {
		return
	}
	if bytes.IndexByte(text, esc) >= 0 {
		text = withoutColours(text)
	}
	state, next := uint32(0), w.s.next
	for i, c := range text {
		state = next[state+uint32(w.s.class[c])]
		if state >= w.s.firstFound {
			for _, literal := range w.s.ends(state) {
				w.found(text, &w.s.triggers[literal], i+1)
			}
			if w.over {
				return
			}
		}
	}
	if assigned != nil && len(w.hits) == 0 && !w.s.textsOnly {
		w.assignedKey(text, assigned)
	}
	if len(w.hits) > 0 {
		w.resolveHits(text)
	}
}

const esc = 0x1b

// withoutColours replaces terminal escape sequences with spaces. Otherwise their last
// letter would count as part of the word after it.
func withoutColours(text []byte) []byte {
	out := bytes.Clone(text)
	for i := 0; i < len(out); i++ {
		if out[i] != esc || i+1 == len(out) || out[i+1] != '[' {
			continue
		}
		end := i + 2
		for end < len(out) && (out[end] < '@' || out[end] > '~') {
			end++
		}
		for ; i <= end && i < len(out); i++ {
			out[i] = ' '
		}
		i--
	}
	return out
}

// found runs the check of a trigger whose literal ends at end.
func (w *walker) found(text []byte, t *trigger, end int) {
	start := end - len(t.literal)
	if t.check != nil {
		t.check(w, text, start, end)
		return
	}
	if string(text[start:end]) == t.literal {
		if from, to := t.shape.match(text, start); to >= 0 {
			w.hit(text, from, to, t.shape.rule)
		}
	}
}

func (w *walker) hit(text []byte, from, to int, rule string) {
	w.add(text, hit{from: from, to: to, rule: rule})
}

// contextHit adds a hit that was found by the text around it.
func (w *walker) contextHit(text []byte, from, to int, rule string) {
	w.add(text, hit{from: from, to: to, rule: rule, contextual: true})
}

func (w *walker) add(text []byte, h hit) {
	if !inMark(text, h.from) {
		w.hits = append(w.hits, h)
		w.over = w.tooMany > 0 && len(w.spots)+len(w.hits) >= w.tooMany
	}
}

// inMark reports whether i is inside the mark of a masked secret.
func inMark(text []byte, i int) bool {
	const longest = 64 // bytes of a mark
	before := text[max(0, i-longest):i]
	at := bytes.LastIndex(before, []byte(marker))
	return at >= 0 && bytes.IndexByte(before[at:], ']') < 0
}

// resolveHits turns hits into spots. Of overlapping hits it takes the one with a shape, or the first.
func (w *walker) resolveHits(text []byte) {
	slices.SortStableFunc(w.hits, func(a, b hit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	kept := nonOverlapping(w.hits, func(h hit) bool { return !h.contextual }, nil)
	kept = nonOverlapping(w.hits, func(h hit) bool { return h.contextual }, kept)
	done := 0
	for _, h := range kept {
		secret := text[h.from:h.to]
		if h.fingerprint == "" {
			h.fingerprint = fingerprint(h.rule, secret)
		}
		w.spots = append(w.spots, spot{h.from, h.to, string(secret), h.contextual, Finding{Rule: h.rule, Path: w.pathString(),
			Masked: excerpt(text, h, done), Fingerprint: h.fingerprint}})
		done = h.to
	}
}

// nonOverlapping adds to kept the eligible hits that overlap nothing in the result. hits and
// kept are sorted, and so is the result.
func nonOverlapping(hits []hit, eligible func(hit) bool, kept []hit) []hit {
	var out []hit
	k, done := 0, 0
	for _, h := range hits {
		for k < len(kept) && kept[k].from < h.to && kept[k].to <= h.from {
			out, done = append(out, kept[k]), kept[k].to
			k++
		}
		if eligible(h) && h.from >= done && (k == len(kept) || h.to <= kept[k].from) {
			out, done = append(out, h), h.to
		}
	}
	return append(out, kept[k:]...)
}

// pathString is the path of the current string.
func (w *walker) pathString() string {
	var b []byte
	for _, s := range w.path {
		if s.key == nil {
			b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
			continue
		}
		if len(b) > 0 {
			b = append(b, '.')
		}
		at := len(b)
		if b = jsonl.AppendDecoded(b, s.key); len(b)-at > longestKey {
			b = append(b[:at], "…"...) // it may be a secret itself
		}
	}
	return string(b)
}

// longestKey is the length in bytes of the longest key that a path shows.
const longestKey = 15
