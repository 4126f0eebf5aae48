package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Counter counts identical contents, known by the first eight bytes of their hash.
type Counter map[[8]byte]int32

// Next returns how often a content with that hash has come, this time included.
func (c *Counter) Next(sum []byte) int {
	if *c == nil {
		*c = Counter{}
	}
	k := [8]byte(sum)
	(*c)[k]++
	return int((*c)[k])
}

// Count returns how often it has come so far.
func (c Counter) Count(sum []byte) int { return int(c[[8]byte(sum)]) }

// Key is the key of a record that has no identity of its own.
func (c *Counter) Key(raw []byte) string {
	sum := sha256.Sum256(raw)
	return HashKey(sum[:], c.Next(sum[:]))
}

// ContentKey is the key of a record without identity: the n-th (from 1) of this content.
func ContentKey(raw []byte, n int) string {
	sum := sha256.Sum256(raw)
	return HashKey(sum[:], n)
}

// HashKey is ContentKey for a content of that hash.
func HashKey(sum []byte, n int) string {
	b := make([]byte, 0, 48)
	b = append(b, "sha256:"...)
	b = hex.AppendEncode(b, sum[:16])
	b = append(b, '#')
	return string(strconv.AppendInt(b, int64(n), 10))
}

// PartKey is the key of the i-th block of a record.
func PartKey(key string, i int) string {
	if i == 0 {
		return key
	}
	return key + "/" + strconv.Itoa(i)
}

// FreeName adds a number to a name that is taken.
func FreeName(name string, taken func(string) bool) string {
	free := name
	for n := 2; taken(free); n++ {
		free = name + "." + strconv.Itoa(n)
	}
	return free
}
