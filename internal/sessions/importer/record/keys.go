package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Sum is the beginning of a hash of a content or key.
type Sum [8]byte

// SumOf returns the sum of a content.
func SumOf[T string | []byte](content T) Sum {
	sum := sha256.Sum256([]byte(content))
	return Sum(sum[:8])
}

// Counter counts identical contents by their sums.
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

// Next counts a content, and returns how often it has come by now.
func (c *Counter) Next(sum Sum) int { return int(c.add(sum, 1)) }

// Empty reports whether nothing was counted.
func (c *Counter) Empty() bool { return len(c.n) == 0 }

// Drop undoes one Next.
func (c *Counter) Drop(sum Sum) { c.add(sum, -1) }

// Count returns how often a content has come.
func (c *Counter) Count(sum Sum) int { return int(c.n[sum]) }

// Mark notes the present state, for [State.Counter].
func (c *Counter) Mark() { c.since = c.since[:0] }

// Key counts a record without an id, and returns its key.
func (c *Counter) Key(raw []byte) string {
	hash := sha256.Sum256(raw)
	return c.HashKey(hash[:])
}

// HashKey is Key for a content with that SHA-256.
func (c *Counter) HashKey(hash []byte) string { return HashKey(hash, c.Next(Sum(hash))) }

// ContentKey returns the key of a record without an id, the n-th (from 1) with this content.
func ContentKey(raw []byte, n int) string { return HashKey(HashOf(raw), n) }

// HashOf returns the SHA-256 of contents one after another. None is copied: one may have many megabytes.
func HashOf(contents ...[]byte) []byte {
	hash := sha256.New()
	for _, content := range contents {
		hash.Write(content)
	}
	return hash.Sum(nil)
}

// HashKey is ContentKey for a content with that SHA-256.
func HashKey(hash []byte, n int) string {
	return "sha256:" + hex.EncodeToString(hash[:16]) + "#" + strconv.Itoa(n)
}

// BlockKey returns the key of the i-th block of a record.
func BlockKey(key string, i int) string {
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
