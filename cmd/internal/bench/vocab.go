package main

import (
	"math"
	"math/rand/v2"
	"strings"
)

// vocab is a list of words of which the first are used most, as in any language: the
// n-th one about a share of 1/n.
type vocab struct {
	words []string
	keep  []float64 // how likely a place keeps its own word, see pick
	other []int32   // and the word that it gives otherwise
}

// newVocab takes words in the order of their use. flat is how many of the first ones
// are used about equally often.
func newVocab(words []string, flat, exponent float64) *vocab {
	v := &vocab{words: words, keep: make([]float64, len(words)), other: make([]int32, len(words))}
	total := 0.0
	for i := range words {
		v.keep[i] = math.Pow(float64(i)+flat, -exponent)
		total += v.keep[i]
	}
	// Each place gives its own word or one other (the alias method), so that a draw is
	// two look-ups however many words there are.
	var scarce, ample []int32
	for i := range v.keep {
		v.keep[i] *= float64(len(words)) / total
		if v.keep[i] < 1 {
			scarce = append(scarce, int32(i))
		} else {
			ample = append(ample, int32(i))
		}
	}
	for len(scarce) > 0 && len(ample) > 0 {
		s, a := scarce[len(scarce)-1], ample[len(ample)-1]
		scarce = scarce[:len(scarce)-1]
		v.other[s] = a
		if v.keep[a] -= 1 - v.keep[s]; v.keep[a] < 1 {
			ample = ample[:len(ample)-1]
			scarce = append(scarce, a)
		}
	}
	for _, i := range append(scarce, ample...) {
		v.keep[i] = 1
	}
	return v
}

func (v *vocab) pick(rng *rand.Rand) string {
	i := rng.IntN(len(v.words))
	if rng.Float64() >= v.keep[i] {
		return v.words[v.other[i]]
	}
	return v.words[i]
}

// distinct calls word until there are n different ones.
func distinct(n int, word func(i int) string) []string {
	seen := make(map[string]bool, n)
	words := make([]string, 0, n)
	for len(words) < n {
		w := word(len(words))
		if !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	return words
}

const common = `the to of and a is in it that for this with be on as not are we from by an
or file at if test error can code will have you was all so new use line but no now should run
let me add fix when need which does there check first has then value function only read write
data call same after before set name path out type list one return key user time see here`

// english makes n words that look like those of a language: syllables, the frequent
// words short.
func english(rng *rand.Rand, n int) []string {
	first := strings.Fields(common)
	onsets := strings.Fields("b c d f g h j k l m n p r s t v w br ch cl cr dr fl gr pl pr qu sc sh sp st str th tr")
	vowels := strings.Fields("a a e e e i i o o u ai ea ee ou io")
	codas := []string{"", "", "", "", "n", "r", "s", "t", "l", "m", "d", "ng", "nt", "st", "ck", "x"}
	return distinct(n, func(i int) string {
		if i < len(first) {
			return first[i]
		}
		syllables := 1 + rng.IntN(2)
		if i > 1000 {
			syllables = 2 + rng.IntN(3)
		}
		var b strings.Builder
		for range syllables {
			b.WriteString(onsets[rng.IntN(len(onsets))])
			b.WriteString(vowels[rng.IntN(len(vowels))])
			b.WriteString(codas[rng.IntN(len(codas))])
		}
		return b.String()
	})
}

// identifiers makes n names of a program's functions, types and variables.
func identifiers(rng *rand.Rand, words []string, n int) []string {
	parts := newVocab(words[:5000], 20, 1)
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	return distinct(n, func(int) string {
		a, b, c := parts.pick(rng), parts.pick(rng), parts.pick(rng)
		switch rng.IntN(8) {
		case 0, 1:
			return a + title(b)
		case 2:
			return a + title(b) + title(c)
		case 3:
			return title(a) + title(b)
		case 4, 5:
			return a + "_" + b
		case 6:
			return a + "_" + b + "_" + c
		}
		return a
	})
}

// paths makes n names of source files.
func paths(rng *rand.Rand, words []string, n int) []string {
	parts := newVocab(words[80:4000], 10, 1)
	roots := strings.Fields("internal cmd pkg src lib web/app test")
	ends := strings.Fields(".go .go .go _test.go .ts .py .md .json")
	return distinct(n, func(int) string {
		p := roots[rng.IntN(len(roots))] + "/" + parts.pick(rng) + "/" + parts.pick(rng)
		if rng.IntN(2) == 0 {
			p += "_" + parts.pick(rng)
		}
		return p + ends[rng.IntN(len(ends))]
	})
}

// codes makes n names of errors as programs print them, with a number.
func codes(rng *rand.Rand, words []string, n int) []string {
	return distinct(n, func(i int) string {
		return "E_" + strings.ToUpper(words[500+rng.IntN(60)]) + "_" + string(rune('1'+i%9)) + string(rune('0'+rng.IntN(10)))
	})
}

// chinese makes n words of one to four characters, most of two.
func chinese(rng *rand.Rand, n int) []string {
	chars := newVocab(distinct(2500, func(int) string { return string(rune(0x4e00 + rng.IntN(0x4000))) }), 30, 1)
	lengths := []int{1, 2, 2, 2, 2, 2, 3, 4}
	return distinct(n, func(int) string {
		var b strings.Builder
		for range lengths[rng.IntN(len(lengths))] {
			b.WriteString(chars.pick(rng))
		}
		return b.String()
	})
}
