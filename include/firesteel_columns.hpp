// Columns for native functions in C++17: typed views of those that a function is given, builders of those that it
// gives. firesteel_functions.hpp includes this; it needs firesteel.h and the standard library, no more.
#ifndef FIRESTEEL_COLUMNS_HPP
#define FIRESTEEL_COLUMNS_HPP

#include "firesteel_functions.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace firesteel {

// A value that a function cannot work with: fails the task with this text. Functions of single rows need not give
// `row`: it is the one that they were called for.
class failure : public std::runtime_error {
public:
    explicit failure(const std::string &message, std::int64_t at_row = -1, std::string state = {})
        : std::runtime_error(message), row(at_row), sqlstate(std::move(state)) {}

    std::int64_t row;
    std::string sqlstate;
};

// ---- What is owned ----

// An array, schema or stream, released when this ends.
template <class T> class owned {
public:
    owned() noexcept = default;
    explicit owned(const T &taken) noexcept : raw_(taken) {}
    owned(owned &&other) noexcept : raw_(std::exchange(other.raw_, T{})) {}
    owned &operator=(owned &&other) noexcept {
        std::swap(raw_, other.raw_);
        return *this;
    }
    owned(const owned &) = delete;
    ~owned() {
        if (raw_.release != nullptr) {
            raw_.release(&raw_);
        }
    }

    explicit operator bool() const noexcept { return raw_.release != nullptr; }
    const T &operator*() const noexcept { return raw_; }
    const T *operator->() const noexcept { return &raw_; }
    T *get() noexcept { return &raw_; }
    // Hands it over to C.
    void move_to(T *out) noexcept { *out = std::exchange(raw_, T{}); }

private:
    T raw_{};
};

using owned_array = owned<ArrowArray>;
using owned_schema = owned<ArrowSchema>;

// ---- Views ----

// What all columns have. `valid` and `value` look whether there is such a row, `is_valid` and `[]` do not.
class column_base {
public:
    std::int64_t size() const noexcept { return array_->length; }
    bool has_nulls() const noexcept { return validity_ != nullptr && array_->null_count != 0; }
    bool valid(std::int64_t row) const { return is_valid(checked(row)); }
    bool is_valid(std::int64_t row) const noexcept {
        return validity_ == nullptr || firesteel_bit(validity_, array_->offset + row);
    }

protected:
    column_base(const ArrowArray &array, std::int64_t buffers, std::int64_t children) : array_(&array) {
        if (array.length < 0 || array.offset < 0 || array.n_buffers != buffers || array.n_children != children ||
            array.dictionary != nullptr) {
            throw std::logic_error("a column has another type than the function reads");
        }
        for (std::int64_t i = 1; i < buffers; i++) {
            // Data of strings may be absent if all are empty.
            if (array.buffers[i] == nullptr && array.length > 0 && i == 1) {
                throw std::logic_error("a column has rows and no values");
            }
        }
        validity_ = array.buffers[0];
    }
    template <class T> const T *values() const noexcept {
        return static_cast<const T *>(firesteel_values(array_, sizeof(T)));
    }
    std::int64_t checked(std::int64_t row) const {
        if (row < 0 || row >= size()) {
            throw std::out_of_range("row " + std::to_string(row) + " of a column of " + std::to_string(size()));
        }
        return row;
    }

    const ArrowArray *array_;
    const void *validity_;
};

// A column of numbers. T may be std::int8_t to std::int64_t, float and double; dates are std::int32_t, timestamps
// std::int64_t.
template <class T> class column : public column_base {
    static_assert(std::is_arithmetic_v<T>, "no column has such values");

public:
    explicit column(const ArrowArray &array) : column_base(array, 2, 0), data_(this->template values<T>()) {}
    T operator[](std::int64_t row) const noexcept { return data_[row]; }
    T value(std::int64_t row) const { return data_[checked(row)]; }
    // All values, those of nulls among them.
    const T *data() const noexcept { return data_; }

private:
    const T *data_;
};

template <> class column<bool> : public column_base {
public:
    explicit column(const ArrowArray &array) : column_base(array, 2, 0) {}
    bool operator[](std::int64_t row) const noexcept { return firesteel_boolean_at(array_, row); }
    bool value(std::int64_t row) const { return (*this)[checked(row)]; }
};

// A column of strings or binaries.
template <> class column<std::string_view> : public column_base {
public:
    explicit column(const ArrowArray &array) : column_base(array, 3, 0) {}
    std::string_view operator[](std::int64_t row) const noexcept {
        firesteel_str text = firesteel_string_at(array_, row);
        return {text.data, text.len};
    }
    std::string_view value(std::int64_t row) const { return (*this)[checked(row)]; }
};

// A value of a column of arrays: some rows of the column of its items.
template <class T> class list_view {
public:
    list_view(const column<T> &items, std::int64_t begin, std::int64_t size)
        : items_(items), begin_(begin), size_(size) {}
    std::int64_t size() const noexcept { return size_; }
    bool is_valid(std::int64_t at) const noexcept { return items_.is_valid(begin_ + at); }
    auto operator[](std::int64_t at) const noexcept { return items_[begin_ + at]; }
    bool valid(std::int64_t at) const { return is_valid(checked(at)); }
    auto value(std::int64_t at) const { return (*this)[checked(at)]; }

private:
    std::int64_t checked(std::int64_t at) const {
        if (at < 0 || at >= size_) {
            throw std::out_of_range("item " + std::to_string(at) + " of an array of " + std::to_string(size_));
        }
        return at;
    }

    column<T> items_;
    std::int64_t begin_, size_;
};

template <class T> class column<list_view<T>> : public column_base {
public:
    explicit column(const ArrowArray &array) : column_base(array, 2, 1), items_(*array.children[0]) {}
    list_view<T> operator[](std::int64_t row) const noexcept {
        std::int64_t begin, end;
        firesteel_list_at(array_, row, &begin, &end);
        return {items_, begin, end - begin};
    }
    list_view<T> value(std::int64_t row) const { return (*this)[checked(row)]; }

private:
    column<T> items_;
};

// Arguments, states, or rows of a partition: columns of equal length.
class batch {
public:
    explicit batch(const ArrowArray &array) : array_(&array) {}
    std::int64_t size() const noexcept { return array_->length; }
    std::size_t columns() const noexcept { return static_cast<std::size_t>(array_->n_children); }
    template <class T> column<T> get(std::size_t at) const { return column<T>(child(at)); }
    const ArrowArray &child(std::size_t at) const {
        if (at >= columns()) {
            throw std::out_of_range("column " + std::to_string(at) + " of " + std::to_string(columns()));
        }
        if (array_->offset != 0 || array_->children[at]->length < size()) {
            throw std::logic_error("a column has fewer rows than its batch");
        }
        return *array_->children[at];
    }

private:
    const ArrowArray *array_;
};

// ---- Types ----

// The type word and Arrow's format of a C++ type.
template <class T, class = void> struct type;

template <> struct type<bool> {
    static std::string word() { return "boolean"; }
    static owned_schema schema(const char *name);
};

namespace detail {
inline owned_schema new_schema(const char *format, const char *name, std::int64_t children) {
    ArrowSchema made;
    if (!firesteel_new_schema(&made, format, name, children)) {
        throw std::bad_alloc();
    }
    return owned_schema(made);
}
template <class T>
constexpr bool is_number = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                           (std::is_integral_v<T> && std::is_signed_v<T> && !std::is_same_v<T, char> &&
                            !std::is_same_v<T, wchar_t>);
} // namespace detail

inline owned_schema type<bool>::schema(const char *name) { return detail::new_schema("b", name, 0); }

template <class T> struct type<T, std::enable_if_t<detail::is_number<T>>> {
    static std::string word() {
        if constexpr (std::is_floating_point_v<T>) {
            return sizeof(T) == 4 ? "float" : "double";
        } else {
            return sizeof(T) == 1 ? "tinyint" : sizeof(T) == 2 ? "smallint" : sizeof(T) == 4 ? "int" : "bigint";
        }
    }
    static owned_schema schema(const char *name) {
        const char *format = std::is_floating_point_v<T> ? (sizeof(T) == 4 ? "f" : "g")
                             : sizeof(T) == 1            ? "c"
                             : sizeof(T) == 2            ? "s"
                             : sizeof(T) == 4            ? "i"
                                                         : "l";
        return detail::new_schema(format, name, 0);
    }
};

template <> struct type<std::string_view> {
    static std::string word() { return "string"; }
    static owned_schema schema(const char *name) { return detail::new_schema("u", name, 0); }
};
template <> struct type<std::string> : type<std::string_view> {};

template <class T> struct type<std::optional<T>> : type<T> {};

template <class T> struct type<std::vector<T>> {
    static std::string word() { return "array<" + type<T>::word() + ">"; }
    static owned_schema schema(const char *name) {
        owned_schema list = detail::new_schema("+l", name, 1);
        type<T>::schema("element").move_to(list->children[0]);
        return list;
    }
};
template <class T> struct type<list_view<T>> : type<std::vector<T>> {};

// ---- Builders ----

namespace detail {

// What an array of a builder owns.
class contents {
public:
    template <class T> void add_buffer(std::vector<T> &&values) {
        values.reserve(1); // for Arrow, also what is empty has an address
        auto kept = std::make_shared<std::vector<T>>(std::move(values));
        buffers_.push_back(kept->data());
        kept_.push_back(std::move(kept));
    }
    void add_no_buffer() { buffers_.push_back(nullptr); }
    void add_child(owned_array &&child) { children_.push_back(std::move(child)); }

    static owned_array finish(std::unique_ptr<contents> made, std::int64_t length, std::int64_t nulls) {
        for (owned_array &child : made->children_) {
            made->pointers_.push_back(child.get());
        }
        ArrowArray array{};
        array.length = length;
        array.null_count = nulls;
        array.n_buffers = static_cast<std::int64_t>(made->buffers_.size());
        array.buffers = made->buffers_.data();
        array.n_children = static_cast<std::int64_t>(made->pointers_.size());
        array.children = made->pointers_.data();
        array.private_data = made.release();
        array.release = [](ArrowArray *released) {
            delete static_cast<contents *>(released->private_data);
            released->release = nullptr;
        };
        return owned_array(array);
    }

private:
    std::vector<std::shared_ptr<void>> kept_;
    std::vector<const void *> buffers_;
    std::vector<owned_array> children_;
    std::vector<ArrowArray *> pointers_;
};

// Bits, added one by one.
class bits {
public:
    void add(bool bit) {
        if (size_ % 8 == 0) {
            bytes.push_back(0);
        }
        bytes.back() = static_cast<std::uint8_t>(bytes.back() | (bit ? 1 << (size_ % 8) : 0));
        size_++;
    }
    std::vector<std::uint8_t> bytes;

private:
    std::int64_t size_ = 0;
};

// Offsets of strings and arrays, which have 31 bits.
inline std::int32_t checked_offset(std::size_t size) {
    if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        throw failure("a batch has a column of more than 2 GiB");
    }
    return static_cast<std::int32_t>(size);
}

} // namespace detail

// What all builders have: how many rows there are, and which of them are null.
class builder_base {
public:
    std::int64_t size() const noexcept { return size_; }

protected:
    void count(bool valid) {
        if (!valid && nulls_ == 0) {
            for (std::int64_t i = 0; i < size_; i++) {
                validity_.add(true);
            }
        }
        if (!valid || nulls_ > 0) {
            validity_.add(valid);
        }
        nulls_ += valid ? 0 : 1;
        size_++;
    }
    std::unique_ptr<detail::contents> begin() {
        auto made = std::make_unique<detail::contents>();
        if (nulls_ == 0) {
            made->add_no_buffer();
        } else {
            made->add_buffer(std::move(validity_.bytes));
        }
        return made;
    }
    owned_array end(std::unique_ptr<detail::contents> made) {
        owned_array array = detail::contents::finish(std::move(made), size_, nulls_);
        validity_ = {};
        size_ = nulls_ = 0;
        return array;
    }

private:
    detail::bits validity_;
    std::int64_t size_ = 0, nulls_ = 0;
};

// Builds a column of numbers. `finish` gives the array and leaves an empty builder.
template <class T> class builder : public builder_base {
    static_assert(detail::is_number<T>, "no column has such values");

public:
    void reserve(std::int64_t rows) { values_.reserve(static_cast<std::size_t>(rows)); }
    void append(T value) {
        values_.push_back(value);
        count(true);
    }
    void append_null() {
        values_.push_back(T{});
        count(false);
    }
    owned_array finish() {
        auto made = begin();
        made->add_buffer(std::exchange(values_, {}));
        return end(std::move(made));
    }

private:
    std::vector<T> values_;
};

template <> class builder<bool> : public builder_base {
public:
    void reserve(std::int64_t) {}
    void append(bool value) {
        values_.add(value);
        count(true);
    }
    void append_null() {
        values_.add(false);
        count(false);
    }
    owned_array finish() {
        auto made = begin();
        made->add_buffer(std::exchange(values_, {}).bytes);
        return end(std::move(made));
    }

private:
    detail::bits values_;
};

// Builds a column of strings or binaries.
template <> class builder<std::string_view> : public builder_base {
public:
    void reserve(std::int64_t rows) { offsets_.reserve(static_cast<std::size_t>(rows) + 1); }
    void append(std::string_view text) {
        std::int32_t end = detail::checked_offset(data_.size() + text.size());
        data_.insert(data_.end(), text.begin(), text.end());
        offsets_.push_back(end);
        count(true);
    }
    void append_null() {
        offsets_.push_back(offsets_.back());
        count(false);
    }
    owned_array finish() {
        auto made = begin();
        made->add_buffer(std::exchange(offsets_, {0}));
        made->add_buffer(std::exchange(data_, {}));
        return end(std::move(made));
    }

private:
    std::vector<std::int32_t> offsets_{0};
    std::vector<char> data_;
};
template <> class builder<std::string> : public builder<std::string_view> {};

namespace detail {
template <class T> struct without_optional { using type = T; };
template <class T> struct without_optional<std::optional<T>> { using type = T; };
template <class T> using without_optional_t = typename without_optional<T>::type;

} // namespace detail

// Appends a value that may be null to a builder.
template <class Builder, class T> void append(Builder &to, const T &value) { to.append(value); }
template <class Builder, class T> void append(Builder &to, const std::optional<T> &value) {
    if (value) {
        to.append(*value);
    } else {
        to.append_null();
    }
}

// Builds a column of arrays; items that may be null are std::optional.
template <class T> class builder<std::vector<T>> : public builder_base {
public:
    void reserve(std::int64_t rows) { offsets_.reserve(static_cast<std::size_t>(rows) + 1); }
    void append(const std::vector<T> &values) {
        for (const auto &value : values) {
            firesteel::append(items_, static_cast<const T &>(value));
        }
        offsets_.push_back(detail::checked_offset(static_cast<std::size_t>(items_.size())));
        count(true);
    }
    void append_null() {
        offsets_.push_back(offsets_.back());
        count(false);
    }
    owned_array finish() {
        auto made = begin();
        made->add_buffer(std::exchange(offsets_, {0}));
        made->add_child(items_.finish());
        return end(std::move(made));
    }

private:
    std::vector<std::int32_t> offsets_{0};
    builder<detail::without_optional_t<T>> items_;
};

// Columns of equal length as an array of structs, as states, partition and table functions give.
template <class... Columns> owned_array struct_of(std::int64_t length, Columns &&...columns) {
    auto made = std::make_unique<detail::contents>();
    made->add_no_buffer();
    (made->add_child(std::forward<Columns>(columns)), ...);
    return detail::contents::finish(std::move(made), length, 0);
}

// Columns with names: how a signature or state writes them, their schema, and rows of them. Values that may be null
// are std::optional: `columns<std::string, std::optional<std::int64_t>> c{{"key", "line"}};`
template <class... Ts> class columns {
public:
    explicit columns(std::vector<std::string> names) : names_(std::move(names)) {
        if (names_.size() != sizeof...(Ts)) {
            throw std::logic_error("not as many names as columns");
        }
    }
    std::string text() const {
        std::string text;
        std::size_t at = 0;
        ((text += (at == 0 ? "" : ", ") + names_[at] + ":" + type<Ts>::word(), at++), ...);
        return text;
    }
    owned_schema schema() const {
        owned_schema all = detail::new_schema("+s", "", sizeof...(Ts));
        std::size_t at = 0;
        ((type<Ts>::schema(names_[at].c_str()).move_to(all->children[at]), at++), ...);
        return all;
    }
    std::int64_t size() const noexcept { return std::get<0>(builders_).size(); }
    void append(const Ts &...values) {
        std::apply([&](auto &...to) { (firesteel::append(to, values), ...); }, builders_);
    }
    // The rows so far.
    owned_array finish() {
        std::int64_t length = size();
        return std::apply([&](auto &...from) { return struct_of(length, from.finish()...); }, builders_);
    }

private:
    std::vector<std::string> names_;
    std::tuple<builder<detail::without_optional_t<Ts>>...> builders_;
};

} // namespace firesteel

#endif
