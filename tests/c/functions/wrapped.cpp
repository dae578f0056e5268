// What the C++ header has, used: types, nulls, overloads, constants, tasks, and all kinds of functions.
#include "firesteel_functions.hpp"

namespace {

// Reads everything the checked way; begins with the second argument if that is constant, else with -1.
struct sum_of_items : firesteel::scalar_function {
    explicit sum_of_items(const firesteel::binding &bound)
        : constant_(bound.constant_given(1) ? bound.constant<std::int64_t>(1).value(0) : -1) {}
    firesteel::owned_array execute(const firesteel::task &, const firesteel::batch &rows) override {
        auto lists = rows.get<firesteel::list_view<std::int32_t>>(0);
        firesteel::builder<std::int64_t> sums;
        for (std::int64_t row = 0; row < rows.size(); row++) {
            if (!lists.valid(row)) {
                sums.append_null();
                continue;
            }
            auto items = lists.value(row);
            std::int64_t sum = constant_;
            for (std::int64_t i = 0; i < items.size(); i++) {
                sum += items.valid(i) ? items.value(i) : 0;
            }
            sums.append(sum);
        }
        return sums.finish();
    }
    std::int64_t constant_;
};

// Takes no floats, although its signature has them.
struct picky : firesteel::scalar_function {
    explicit picky(const firesteel::binding &bound) {
        if (bound.signature == 1) {
            throw firesteel::not_applicable();
        }
    }
    firesteel::owned_array execute(const firesteel::task &, const firesteel::batch &rows) override {
        auto values = rows.get<std::int32_t>(0);
        firesteel::builder<bool> even;
        for (std::int64_t row = 0; row < rows.size(); row++) {
            firesteel::append(even, values.is_valid(row) ? std::optional<bool>(values[row] % 2 == 0) : std::nullopt);
        }
        return even.finish();
    }
};

// Rows of a partition, numbered.
struct numbered : firesteel::partition_function {
    firesteel::owned_schema schema() override { return out_.schema(); }
    firesteel::owned_array next(const firesteel::task &by, firesteel::input &rows) override {
        by.check_cancelled();
        firesteel::owned_array batch = rows.next();
        if (!batch) {
            return {};
        }
        auto values = firesteel::batch(*batch).get<std::string_view>(0);
        for (std::int64_t row = 0; row < values.size(); row++) {
            std::optional<std::string> value;
            if (values.is_valid(row)) {
                value = std::string(values[row]);
            }
            number_++;
            out_.append(number_, value, {number_, std::nullopt});
        }
        return out_.finish();
    }
    firesteel::columns<std::int64_t, std::optional<std::string>, std::vector<std::optional<std::int64_t>>> out_{
        {"number", "value", "list"}};
    std::int64_t number_ = 0;
};

// The letters of a text, three at a time.
struct letters : firesteel::table_function {
    firesteel::owned_schema schema() override { return out_.schema(); }
    void call(const firesteel::task &, const firesteel::batch &arguments, std::int64_t row) override {
        rest_ = arguments.get<std::string_view>(0)[row];
    }
    firesteel::owned_array next(const firesteel::task &) override {
        for (; !rest_.empty() && out_.size() < 3; rest_.remove_prefix(1)) {
            out_.append(std::string(rest_.substr(0, 1)));
        }
        return out_.size() == 0 ? firesteel::owned_array() : out_.finish();
    }
    std::string_view rest_;
    firesteel::columns<std::string> out_{{"letter"}};
};

} // namespace

FIRESTEEL_MODULE(
    "wrapped", "1.0",
    firesteel::scalar(
        "types", "Test.", [](bool a) { return !a; }, [](std::int8_t a) { return a; }, [](std::int16_t a) { return a; },
        [](std::int32_t a) { return a; }, [](std::int64_t a) { return a; }, [](float a) { return a; },
        [](double a) noexcept { return a; }, [](std::string_view a) { return a; }),
    firesteel::scalar("no_arguments", "Test.", [] { return std::string("none"); }),
    firesteel::scalar("count_up", "Test.", [n = std::int64_t(0)]() mutable { return ++n; })
        .volatility(FIRESTEEL_VOLATILITY_VOLATILE),
    firesteel::scalar("null_if_negative", "Test.",
                      [](std::int32_t a) { return a < 0 ? std::nullopt : std::optional<std::int32_t>(a); }),
    firesteel::scalar("or_zero", "Test.",
                      [](std::optional<std::int32_t> a, std::int32_t b) { return a.value_or(0) + b; }),
    firesteel::scalar("reversed", "Test.",
                      [](firesteel::list_view<std::int32_t> a) {
                          std::vector<std::optional<std::int32_t>> all;
                          for (std::int64_t i = a.size() - 1; i >= 0; i--) {
                              all.push_back(a.is_valid(i) ? std::optional<std::int32_t>(a[i]) : std::nullopt);
                          }
                          return all;
                      }),
    firesteel::scalar("flags", "Test.", [](bool a) { return std::vector<bool>{a, !a}; }),
    firesteel::scalar("zone", "Test.",
                      [](const firesteel::task &by, std::int32_t) {
                          by.reserve(100);
                          by.log(FIRESTEEL_LOG_INFO, "asked");
                          by.release(100);
                          return std::string(by.time_zone()) + (by.ansi() ? " ansi" : "");
                      })
        .volatility(FIRESTEEL_VOLATILITY_STABLE),
    firesteel::scalar_class<sum_of_items>("sum_of_items", "Test.", {{"array<int>, bigint", "bigint"}}),
    firesteel::scalar_class<picky>("picky", "Test.", {{"int", "boolean"}, {"float", "boolean"}}),
    firesteel::partition<numbered>("numbered", "Test.", {"value:string", numbered().out_.text()}),
    firesteel::table<letters>("letters", "Test.", {{"string", letters().out_.text()}})
        .nulls(FIRESTEEL_NULLS_SKIPPED))
