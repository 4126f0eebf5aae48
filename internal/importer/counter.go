package importer

import (
	"crypto/sha256"
	"io"
)

// counter counts identical contents, which it knows by the first eight bytes
// of their hash.
type counter struct{ n map[[8]byte]int32 }

// next returns how often a content with that hash has come, this time included.
func (c *counter) next(sum []byte) int {
	if c.n == nil {
		c.n = map[[8]byte]int32{}
	}
	k := [8]byte(sum[:8])
	c.n[k]++
	return int(c.n[k])
}

// count returns how often it has come so far.
func (c *counter) count(sum []byte) int { return int(c.n[[8]byte(sum[:8])]) }

// key is the key of a record that has no identity of its own.
func (c *counter) key(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hashKey(sum[:], c.next(sum[:]))
}

func hashOf(r io.Reader) ([]byte, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
