package sharing

import (
	"bytes"
	"testing"
)

// A character that comes in two writes is whole, and escaped if need be.
func TestShown(t *testing.T) {
	in := []byte("[\"é\u202e世👍\"]\n")
	for i := range in {
		var out bytes.Buffer
		w := &shown{w: &out}
		for _, p := range [][]byte{in[:i], in[i:]} {
			if n, err := w.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if want := "[\"é\\u202e世👍\"]\n"; out.String() != want {
			t.Errorf("cut at %d: %q, want %q", i, out.String(), want)
		}
	}
}
