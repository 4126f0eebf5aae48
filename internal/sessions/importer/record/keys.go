package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Sum is the beginning of a hash, by which contents and keys are known again.
type Sum [8]byte

// SumOf is the sum of a content.
func SumOf[T string | []byte](content T) Sum {
	sum := sha256.Sum256([]byte(content))
	return Sum(sum[:8])
}

// Counter counts identical contents, known by the first eight bytes of their hash.
type Counter struct {
	n     map[Sum]int32
	since []change // since the last mark
}

type change struct {
	Sum
	by int32
}

func (c *Counter) add(k Sum, by int32) int32 {
	if c.n == nil {
		c.n = map[Sum]int32{}
	}
	c.n[k] += by
	c.since = append(c.since, change{k, by})
	return c.n[k]
}

// Next returns how often a content with that hash has come, this time included.
func (c *Counter) Next(sum []byte) int { return int(c.add(Sum(sum), 1)) }

// Empty reports whether nothing has come.
func (c *Counter) Empty() bool { return len(c.n) == 0 }

// Drop takes one back.
func (c *Counter) Drop(sum []byte) { c.add(Sum(sum), -1) }

// Count returns how often it has come so far.
func (c *Counter) Count(sum []byte) int { return int(c.n[Sum(sum)]) }

// Mark remembers how it stands, for [State.Counter].
func (c *Counter) Mark() { c.since = c.since[:0] }

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
