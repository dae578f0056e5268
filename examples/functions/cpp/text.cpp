// Words of texts: functions of single rows, of which one gives arrays, and an aggregate.
//
//     g++ -std=c++17 -O2 -shared -fPIC -fvisibility=hidden -Iinclude examples/functions/cpp/text.cpp -o libtext.so
//
//     select word_count('the quick fox'), reverse_words('the quick fox'), tokens('the quick fox')    -- 3, …
#include "firesteel_functions.hpp"

#include <algorithm>

namespace {

const char *const SPACES = " \t\r\n";

// The next word of a text, which is left with the rest; empty at the end.
std::string_view next_word(std::string_view &rest) {
    std::size_t begin = rest.find_first_not_of(SPACES);
    if (begin == std::string_view::npos) {
        return {};
    }
    std::size_t end = std::min(rest.find_first_of(SPACES, begin), rest.size());
    std::string_view word = rest.substr(begin, end - begin);
    rest.remove_prefix(end);
    return word;
}

std::int32_t word_count(std::string_view text) {
    std::int32_t count = 0;
    while (!next_word(text).empty()) {
        count++;
    }
    return count;
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
        words.emplace_back(word);
    }
    return words;
}

std::string reverse_words(std::string_view text) {
    std::vector<std::string> words = words_of(text);
    std::string reversed;
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
        reversed += (reversed.empty() ? "" : " ") + *word;
    }
    return reversed;
}

// A null has no words: the function is given it, and gives an empty array.
std::vector<std::string> tokens(std::optional<std::string_view> text) { return words_of(text.value_or("")); }

// The longest of a group's texts, the first one of equals in the order of bytes; null if there is none.
class longest : public firesteel::aggregate_function {
public:
    void update(const firesteel::task &, const firesteel::batch &arguments, const firesteel::groups &groups) override {
        auto texts = arguments.get<std::string_view>(0);
        longest_.resize(groups.count);
        for (std::int64_t row = 0; row < texts.size(); row++) {
            if (texts.is_valid(row)) {
                take(longest_[groups[row]], texts[row]);
            }
        }
    }
    // A state is the longest text so far.
    void merge(const firesteel::task &by, const firesteel::batch &states, const firesteel::groups &groups) override {
        update(by, states, groups);
    }
    firesteel::owned_array states(const firesteel::task &, std::uint32_t count) override {
        return firesteel::struct_of(count, texts(count));
    }
    firesteel::owned_array finish(const firesteel::task &, std::uint32_t count) override {
        firesteel::owned_array results = texts(count);
        longest_.clear();
        bytes_ = 0;
        return results;
    }
    std::size_t size() const noexcept override {
        return longest_.capacity() * sizeof(std::optional<std::string>) + bytes_;
    }

private:
    void take(std::optional<std::string> &longest, std::string_view text) {
        bool better = !longest || text.size() > longest->size() || (text.size() == longest->size() && text < *longest);
        if (better) {
            bytes_ += text.size() - (longest ? longest->size() : 0);
            longest = text;
        }
    }
    firesteel::owned_array texts(std::uint32_t count) {
        longest_.resize(count);
        firesteel::builder<std::string_view> texts;
        for (const auto &text : longest_) {
            firesteel::append(texts, text);
        }
        return texts.finish();
    }

    std::vector<std::optional<std::string>> longest_;
    std::size_t bytes_ = 0;
};

} // namespace

FIRESTEEL_MODULE("text", "1.0",
                 firesteel::scalar("word_count", "How many words a text has.", word_count),
                 firesteel::scalar("reverse_words", "The words of a text, the last one first.", reverse_words),
                 firesteel::scalar("tokens", "The words of a text.", tokens),
                 firesteel::aggregate<longest>("longest", "The longest text.", {{"string", "string"}},
                                               "longest:string")
                     .nulls(FIRESTEEL_NULLS_SKIPPED))
