package query

import (
	"slices"
	"strings"
)

// questionWords begin questions in English, German and Spanish; folded, with spaces around each.
const questionWords = " why how what what's when where where's which who who's whose does do did is are was were can could should has have " +
	"warum wieso weshalb wie was wann wo woher wer welche welcher welches por que como cuando donde cual quien "

// questionRuns are in questions in Chinese and Japanese.
const questionRuns = " 为什么 什么 怎么 怎样 如何 哪里 哪个 哪些 是否 吗 なぜ どう どこ いつ "

// isQuestion reports whether a query reads as a question: it has at least three words, and begins with a word that asks or
// ends with a question mark.
func isQuestion(q string, tokens []token) bool {
	if len(tokens) < 2 || tokens[0].phrase || tokens[0].not || tokens[0].op {
		return false
	}
	for run := range strings.FieldsSeq(questionRuns) {
		if strings.Contains(q, run) {
			return true
		}
	}
	if len(tokens) < 3 {
		return false
	}
	first := foldPieces(strings.ReplaceAll(trimPunctuation(tokens[0].raw), "’", "'"))
	return len(first) > 0 && strings.Contains(questionWords, " "+string(first[0].lit)+" ") || strings.HasSuffix(strings.TrimSpace(q), "?")
}

// IsQuestion reports whether a query reads as a question, such as "how did we fix the --watch flag".
func IsQuestion(q string) bool {
	tokens, _ := lex(q, Options{})
	return isQuestion(q, dropStray(tokens, Options{}))
}

// wordsOf returns the words and phrases of a question. A dash belongs to its word, and * ends none.
func wordsOf(tokens []token) (out []unit) {
	for i := range tokens {
		u := tokens[i].unit
		if u.raw = strings.TrimRight(u.raw, "*"); tokens[i].dashed {
			u.raw = "-" + u.raw
		}
		u.phrase = u.phrase && slices.ContainsFunc(u.pieces, func(p piece) bool { return len(p.runs) > 0 })
		if u.not = false; u.raw != "" {
			out = append(out, u)
		}
	}
	return out
}
