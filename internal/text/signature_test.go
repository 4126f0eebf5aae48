package text_test

import (
	"strings"
	"testing"

	"tape/internal/text"
)

func TestSignature(t *testing.T) {
	long := strings.Repeat("ok  \ttape/repo 0.25s commit 8f14e45fceea167a\n", 1000)
	same := []struct{ a, b string }{
		{"took 12 ms", "took  7 ms\n"},
		{"id deadbeef01", "ID 0123456789abcdef"},
		{long, strings.ReplaceAll(strings.ReplaceAll(long, "0.25", "113.5"), "\t", " ")},
		{"", " \n"},
	}
	for _, c := range same {
		if text.Signature([]byte(c.a)) != text.Signature([]byte(c.b)) {
			t.Errorf("the signatures of %.30q and %.30q differ, want the same", c.a, c.b)
		}
	}
	different := []struct{ a, b string }{
		{"took 12 ms", "took 12 s"},
		{"a-b", "a+b"},
		{long, long[:9000]},
		{"", "x"},
		{"数据", "数"},
	}
	for _, c := range different {
		if text.Signature([]byte(c.a)) == text.Signature([]byte(c.b)) {
			t.Errorf("the signatures of %.30q and %.30q are the same, want different ones", c.a, c.b)
		}
	}
}
