package secrets

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// A secret with a shape is often written in base64, for example in the manifests of Kubernetes. Its first bytes are
// then some fixed characters, at which the automaton stops.

// leastEncoded is how many bytes a literal needs to be looked for in base64.
const leastEncoded = 4

// encodedTrigger returns the trigger for texts in base64 that begin with a literal; false if it is too short.
func encodedTrigger(literal string) (trigger, bool) {
	if len(literal) < leastEncoded {
		return trigger{}, false
	}
	// A character stands for 6 bits; the last ones depend on what follows.
	fixed := base64.RawStdEncoding.EncodeToString([]byte(literal))[:len(literal)*8/6]
	return trigger{literal: fixed, check: func(w *walker, text []byte, start, end int) {
		if string(text[start:end]) == fixed && w.depth == 0 {
			w.encoded(text, start)
		}
	}}, true
}

// encoded checks a text in base64 that begins at start.
func (w *walker) encoded(text []byte, start int) {
	const longest = 64 << 10
	if start > 0 && w.s.random[text[start-1]] && text[start-1] != '=' {
		return
	}
	to := runEnd(w.s.random, text, start, longest)
	body := strings.NewReplacer("-", "+", "_", "/").Replace(string(bytes.TrimRight(text[start:to], "=")))
	plain, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return
	}
	inner := w.s.pool.Get().(*walker)
	defer inner.release()
	inner.depth = w.depth + 1
	inner.text(plain, nil)
	for _, s := range inner.spots {
		if !s.contextual {
			w.hit(text, start, to, s.Rule)
			return
		}
	}
}
