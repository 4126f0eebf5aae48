//go:build extra

package bench

// The sessions of projectQuestions are public, too: the newest full.jsonl of each session on the branch
// entire/checkpoints/v1 of the first two repositories, and what is below .codex/sessions and .claude/projects in the
// others.
const (
	ohMyPosh        = "JanDeDobbeleer-oh-my-posh"
	cipherBox       = "FSM1-cipher-box"
	chromeExtension = "taturou-codex-chrome-extension"
	testFramework   = "EdouardZemb-test-framework"
	commonTools     = "doudouqie66-CommonTools"
	prirodnik       = "elizabeth-goldsmith-prirodnik"
)

// projectQuestions were written by reading the sessions, by somebody who did not know how a search ranks. In each
// repository many sessions are about nearly the same.
var projectQuestions = []publicQuestion{
	about(ohMyPosh, "What was NewConfiguredLanguage renamed to?", "rename configured language constructor", `\bNewLanguage\b`),
	about(ohMyPosh, "How much slower is it to write a segment with a gradient than a solid one?", "gradient segment write benchmark", `15\s?µs|15×`),
	about(ohMyPosh, "What is the function for repainting the prompt called in PowerShell?", "repaint prompt powershell function", `Invoke-PoshPromptRepaint`),
	about(ohMyPosh, "How do we keep zsh-vi-mode working with the transient prompt?", "zsh vi mode transient prompt fix", `zvm_zle-line-init`),
	about(ohMyPosh, "Which parameter of the FTCS mark carries the command?", "OSC 133 C command executed parameter", `cmdline_url`),
	about(ohMyPosh, "Where did the padding around the exported image come from?", "svg padding cause", `windowGeometry|margin: 96`),
	about(ohMyPosh, "Why can the right prompt be missing in an image of 120 columns?", "rprompt missing export width", `30.cell`),
	about(ohMyPosh, "Which folder of skills do Copilot, Codex and Claude all read?", "skills folder all tools read", `\.agents/skills`),
	about(ohMyPosh, "How long did the chips take before the replay was hermetic?", "chips replay hermetic faster", `1\.19\s?s`),
	about(ohMyPosh, "Which commit had already fixed that the default theme sticks after a cache miss?", "default config persisted cache miss fixed", `0baa988b`),
	about(cipherBox, "Which variable turns on the login that only tests use?", "login endpoint tests environment variable", `TEST_LOGIN_SECRET`),
	about(cipherBox, "Which high findings of the sharing review were to be fixed?", "phase 14 security review findings to address", `H1, H2, H3, H4`),
	about(cipherBox, "How many tests brought the shares module to full coverage?", "shares module test coverage CI", `49 (new )?tests`),
	about(cipherBox, "Why is a rename refused on the SMB backend?", "FUSE-T SMB rename EPERM", `W_OK`),
	about(cipherBox, "Which commit has the todo about LOW-02?", "LOW-02 todo committed", `1b3df75`),
	about(cipherBox, "Where is the plan for the schema evolution protocol?", "metadata schema evolution protocol quick task", `019-metadata`),
	about(cipherBox, "What receives the logs of the staging server?", "staging logs service", `Loki`),
	about(cipherBox, "Which commit has the decisions about user to user sharing?", "discuss phase 14 context committed", `156c7fcc0`),
	about(chromeExtension, "CONCERN 3 はどのライブラリで解消した?", "CONCERN 3 Markdown サニタイズ", `rehype-sanitize`),
	about(chromeExtension, "スレッドの更新日時はどの形式で表示する?", "スレッド一覧 更新日時 形式", `YYYY-MM-DD hh:mm:ss`),
	about(chromeExtension, "使用リミットが0%になったのはなぜ?", "リミット値 0% 原因", `パース順|単体レコード`),
	about(chromeExtension, "再接続の間隔はどう長くなる?", "再接続 間隔 ログ", `指数バックオフ`),
	about(chromeExtension, "青い枠が複数の要素に残るのはなぜ?", "ホバー 枠 残る 原因", `解除漏れ`),
	about(chromeExtension, "前回の会話を続けるときに送るメソッドは?", "thread.id 会話 再開 メソッド", `thread/resume`),
	about(chromeExtension, "Docker をやめて中継サーバをどう起動することにした?", "ws-proxy Docker 廃止", `直接起動`),
	about(chromeExtension, "週の枠は何分と表示された?", "codex secondary 分 リミット", `10080`),
	about(testFramework, "Comment publier un binaire Rust avec npm ?", "binaire Rust npm distribution", `optionalDependencies`),
	about(testFramework, "Quels secrets l'intégration continue attend-elle ?", "secrets CI dépôt", `TEST_USER_EMAIL`),
	about(testFramework, "Combien de suites la review 13 a-t-elle données ?", "review 13 story", `4 follow-ups`),
	about(testFramework, "Pourquoi « incohérent » n'est-il pas le bon mot pour le reporting ?", "reporting lourd incohérent formulation", `problème de charge`),
	about(testFramework, "Combien de points HIGH la review 14 a-t-elle trouvés ?", "review 14 HIGH MEDIUM", `2 HIGH`),
	about(commonTools, "掉落概率加成的变量叫什么?", "掉落 概率 20 变量", `DropRateAddPercent`),
	about(commonTools, "刷怪墙为什么收不到死亡通知?", "刷怪墙 死亡 报错", `DisableMonsterCollision`),
	about(commonTools, "兑换成功的东西为什么不在背包里?", "兑换 背包 没有", `虚拟商品|UGCCommodity`),
	about(commonTools, "排查碰撞体时日志统一搜什么?", "碰撞体 详细日志 关键字", `\[MonsDebug\]`),
	about(commonTools, "怪物跑开两秒以后离玩家还有多远?", "怪物 跑 两秒 距离 日志", `\b646\b`),
	about(prirodnik, "Сколько места занимает папка загрузок?", "папка Downloads общий размер", `612 МБ`),
	about(prirodnik, "Сколько компаний из Калифорнии нашлось?", "California компании таблица", `22 компани`),
	about(prirodnik, "Какую клавишу держать, чтобы диктовать?", "голосовой ввод клавиша", `\bSpace\b`),
	about(prirodnik, "Какая версия Claude Code установилась?", "установка claude-code версия", `2\.1\.131`),
}
