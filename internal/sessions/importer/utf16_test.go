package importer_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"tape/internal/sessions/importer"
)

// TestWide: Windows PowerShell writes what a program prints in UTF-16 (jqlang/jq#2351, anchore/grype#3505). It is read as if
// it were UTF-8, from a file and from standard input, also while its last character is half written.
func TestWide(t *testing.T) {
	const text = `{"type":"user","uuid":"1","sessionId":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","message":{"role":"user","content":"Grüße 👋"}}` + "\r\n"
	wide := func(order binary.AppendByteOrder, units []uint16) (out []byte) {
		for _, u := range append([]uint16{0xfeff}, units...) {
			out = order.AppendUint16(out, u)
		}
		return out
	}
	units := utf16.Encode([]rune(text))
	half := append(append([]uint16{}, units...), 0xd83d, 'a', 0xdc4b)
	for name, x := range map[string]struct {
		b    []byte
		want string
	}{
		"little":  {wide(binary.LittleEndian, units), text},
		"big":     {wide(binary.BigEndian, units), text},
		"halves":  {wide(binary.LittleEndian, half), text + "\ufffda\ufffd"},
		"growing": {append(wide(binary.LittleEndian, units), '{'), text},
	} {
		path := filepath.Join(t.TempDir(), "out.jsonl")
		if err := os.WriteFile(path, x.b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, "-"} {
			src, closer, err := importer.OpenSource(from, bytes.NewReader(x.b))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.NewSectionReader(src.R, 0, src.Size))
			if err != nil || string(got) != "\ufeff"+x.want {
				t.Errorf("%s from %s: %q, %v", name, from, got, err)
			}
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
		}
		info, err := importer.Identify(t.Context(), path)
		if err != nil || info.Session != "s-1" {
			t.Errorf("%s: session %q, %v", name, info.Session, err)
		}
	}
}
