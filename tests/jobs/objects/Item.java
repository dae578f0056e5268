package probe;

import java.io.Serializable;
import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.util.List;
import java.util.Map;

/** A bean with properties of all types. */
public final class Item implements Serializable {
  private Long id;
  private Byte b;
  private Short h;
  private Boolean t;
  private Double x;
  private Float f;
  private String s;
  private byte[] bin;
  private BigDecimal d;
  private Date day;
  private Timestamp moment;
  private List<Integer> a;
  private Map<String, Double> m;
  private Part part;

  /** A bean within it. */
  public static final class Part implements Serializable {
    private int n;
    private String text;

    public int getN() {
      return n;
    }

    public void setN(int n) {
      this.n = n;
    }

    public String getText() {
      return text;
    }

    public void setText(String text) {
      this.text = text;
    }
  }

  public Long getId() {
    return id;
  }

  public void setId(Long id) {
    this.id = id;
  }

  public Byte getB() {
    return b;
  }

  public void setB(Byte b) {
    this.b = b;
  }

  public Short getH() {
    return h;
  }

  public void setH(Short h) {
    this.h = h;
  }

  public Boolean getT() {
    return t;
  }

  public void setT(Boolean t) {
    this.t = t;
  }

  public Double getX() {
    return x;
  }

  public void setX(Double x) {
    this.x = x;
  }

  public Float getF() {
    return f;
  }

  public void setF(Float f) {
    this.f = f;
  }

  public String getS() {
    return s;
  }

  public void setS(String s) {
    this.s = s;
  }

  public byte[] getBin() {
    return bin;
  }

  public void setBin(byte[] bin) {
    this.bin = bin;
  }

  public BigDecimal getD() {
    return d;
  }

  public void setD(BigDecimal d) {
    this.d = d;
  }

  public Date getDay() {
    return day;
  }

  public void setDay(Date day) {
    this.day = day;
  }

  public Timestamp getMoment() {
    return moment;
  }

  public void setMoment(Timestamp moment) {
    this.moment = moment;
  }

  public List<Integer> getA() {
    return a;
  }

  public void setA(List<Integer> a) {
    this.a = a;
  }

  public Map<String, Double> getM() {
    return m;
  }

  public void setM(Map<String, Double> m) {
    this.m = m;
  }

  public Part getPart() {
    return part;
  }

  public void setPart(Part part) {
    this.part = part;
  }
}
